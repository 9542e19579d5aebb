"""`python -m weft.benchmarks.llm` prints a table and one JSON line.

Owns which models are measured and in which order: each in a fresh process, servers started for their turn only.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from ...server.resident import resident_mb
from ..engine.trees import tree
from .models import smollm2_directory, smollm2_gguf

COLUMNS = {
    "prompt_tokens": ("prompt", "{:.0f}"),
    "cold_ms": ("cold ms", "{:.0f}"),
    "warm_ms": ("warm ms", "{:.0f}"),
    "warm_share": ("warm/cold", "{:.2f}"),
    "reused_share": ("reused", "{:.0%}"),
    "generate_tokens_per_s": ("generate() tok/s", "{:.0f}"),
    "plain_tokens_per_s": ("plain tok/s", "{:.0f}"),
    "drafts_tokens_per_s": ("with drafts", "{:.0f}"),
    "loop_ratio": ("plain/generate()", "{:.2f}"),
    "draft_ratio": ("drafts/plain", "{:.2f}"),
    "draft_ratio_worst": ("worst line", "{:.2f}"),
    "accepted_share": ("accepted", "{:.0%}"),
    "same": ("same text", "{}"),
    "memory_mb": ("memory MB", "{:.0f}"),
}
PATIENCE_S = 120
REPOSITORY = "DI-engine"


def main() -> None:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(prog="python -m weft.benchmarks.llm", description=__doc__)
    parser.add_argument("--work", type=Path, default=root / "benchmarks" / ".work")
    parser.add_argument("--tiny", type=Path, default=root / ".tiny-model", help="folder that `make tiny-model` wrote")
    parser.add_argument("--llama-server", type=Path, default=root / ".llm-servers" / "bin" / "llama-server")
    parser.add_argument(
        "--models",
        nargs="+",
        default=["tiny", "smollm2"],
        help="tiny, smollm2, or BACKEND=PATH, as in transformers=DIR",
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="only the rows whose names hold one of these words")
    parser.add_argument("--lines", type=int, default=10, help="lines that are typed")
    parser.add_argument("--keystrokes", type=int, default=5)
    parser.add_argument("--context", type=int, default=1500, help="longest prompt in tokens")
    parser.add_argument("--new-tokens", type=int, default=64)
    arguments = parser.parse_args()
    asked = {
        "repository": str(tree(REPOSITORY, arguments.work)),
        "n_lines": arguments.lines + 1,  # the first is for warming up
        "n_keystrokes": arguments.keystrokes,
        "max_new_tokens": arguments.new_tokens,
    }
    rows = {}
    for name, config in _models(arguments):
        if arguments.only and not any(word in name for word in arguments.only):
            continue
        config["context_tokens"] = arguments.context + arguments.new_tokens
        print(f"measuring {name}", file=sys.stderr)
        with _served(config, arguments.llama_server) as (reachable, pid):
            row = _measured({**asked, "config": reachable})
            if pid is not None:
                row["memory_mb"] = resident_mb(pid)
        rows[name] = {**row, "same": f"{row['n_same']}/{row['n_answers']}"}
        print(json.dumps(rows[name]), file=sys.stderr)  # big models take minutes; what was measured is not lost
    table = Table(title=f"models on replayed typing, {os.cpu_count()} cores", title_justify="left")
    table.add_column("model")
    for title, _ in COLUMNS.values():
        table.add_column(title, justify="right")
    for name, row in rows.items():
        table.add_row(name, *(_shown(row.get(key), pattern) for key, (_, pattern) in COLUMNS.items()))
    Console(width=220).print(table)
    print(json.dumps({"benchmark": "llm", "cores": os.cpu_count(), "repository": REPOSITORY, "models": rows}))


def _models(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of rows, and settings of a ModelConfig; `serve` is a GGUF file for llama.cpp's server."""
    for name in arguments.models:
        if name == "tiny":
            if not arguments.tiny.is_dir():
                raise SystemExit(f"{arguments.tiny} is not there. Run `make tiny-model`, or leave out `tiny`.")
            gguf = str(arguments.tiny / "tiny-f32.gguf")
            yield "tiny, transformers", {"backend": "transformers", "path": str(arguments.tiny / "transformers")}
            yield "tiny, onnx", {"backend": "onnx", "path": str(arguments.tiny / "onnx")}
            yield "tiny, llama.cpp in process", {"backend": "llama.cpp", "path": gguf}
            yield "tiny, llama-server", {"backend": "llama.cpp", "serve": gguf}
        elif name == "smollm2":
            gguf = str(smollm2_gguf(arguments.work))
            yield "135M, transformers", {"backend": "transformers", "path": str(smollm2_directory(arguments.work))}
            yield "135M, llama.cpp in process, 4 bits", {"backend": "llama.cpp", "path": gguf}
            yield "135M, llama-server, 4 bits", {"backend": "llama.cpp", "serve": gguf}
        else:
            backend, _, path = name.partition("=")
            yield name, {"backend": backend, "path": path}


@contextmanager
def _served(config: dict[str, Any], binary: Path) -> Iterator[tuple[dict[str, Any], int | None]]:
    """The settings with the address of a server running meanwhile, and its process; unchanged where none is needed."""
    if "serve" not in config:
        yield config, None
        return
    if not binary.is_file():
        raise SystemExit(f"{binary} is not there. Run `make llm-servers`, or name it with --llama-server.")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    file = config.pop("serve")
    command = [str(binary), "-m", file, "--port", str(port), "-c", "4096", "-np", "2", "-t", "1", "-tb", "2"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(url, server)
        yield {**config, "url": url}, server.pid
    finally:
        server.terminate()
        server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    ends = time.monotonic() + PATIENCE_S
    while time.monotonic() < ends and server.poll() is None:
        try:
            if httpx.get(f"{url}/health", trust_env=False).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"the server at {url} does not start; run it by hand to see why")


def _measured(asked: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-m", f"{__package__}.measure", json.dumps(asked)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"measuring {asked['config']} failed; see above")
    row: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return row


def _shown(value: Any, pattern: str) -> str:
    return "" if value is None else pattern.format(value)


if __name__ == "__main__":
    main()
