"""`weft bench models`: time to the first text and tokens a second of each model backend, on replayed typing.

Owns the choice and order of models: each in a new process, with a server only for its turn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...llm.training.server_process import running_server
from ...server.workspace.process import resident_mb
from ..command import Report, command_parser, run_command, say
from ..engine.timing import in_fresh_process
from ..engine.trees import tree
from ..tables import markdown
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
REPOSITORY = "DI-engine"


def main(arguments: Sequence[str] | None = None) -> int:
    root = Path(__file__).resolve().parents[2]
    parser = command_parser("weft bench models", __doc__, "work", "context", "machine", context={"default": 1500})
    parser.add_argument("--tiny", type=Path, default=root / ".tiny-model", help="folder that `make tiny-model` wrote")
    parser.add_argument("--llama-server", type=Path, default=root / ".llm-servers" / "bin" / "llama-server")
    parser.add_argument(
        "--models",
        nargs="+",
        default=["tiny", "smollm2"],
        help="tiny, smollm2, or BACKEND=PATH, as in transformers=DIR",
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="only rows with one of these words in their names")
    parser.add_argument("--lines", type=int, default=10, help="number of typed lines")
    parser.add_argument("--keystrokes", type=int, default=5)
    parser.add_argument("--new-tokens", type=int, default=64)
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    asked = {
        "repository": str(tree(REPOSITORY, options.work)),
        "n_lines": options.lines + 1,  # the first is for warming up
        "n_keystrokes": options.keystrokes,
        "max_new_tokens": options.new_tokens,
    }
    rows = dict[str, dict[str, Any]]()
    for name, config in _models(options):
        if options.only and not any(word in name for word in options.only):
            continue
        config["context_tokens"] = options.context + options.new_tokens
        say(f"measuring {name}")
        with _served(config, options.llama_server) as (reachable, pid):
            request = json.dumps({**asked, "config": reachable})
            row = {**in_fresh_process(f"{__package__}.measure", request)}
            if pid is not None:
                row["memory_mb"] = resident_mb(pid)
        rows[name] = {**row, "same": f"{row['n_same']}/{row['n_answers']}"}
        say(json.dumps(rows[name]))  # large models take minutes; an interrupted run keeps these rows
    cells = [
        [name, *(_shown(row.get(key), shape) for key, (_, shape) in COLUMNS.items())] for name, row in rows.items()
    ]
    head = ["model", *(title for title, _ in COLUMNS.values())]
    return Report("llm", markdown(head, cells), {"repository": REPOSITORY, "models": rows})


def _models(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names of rows, and settings of a ModelConfig; `serve` is a GGUF file for llama.cpp's server."""
    for name in options.models:
        if name == "tiny":
            if not options.tiny.is_dir():
                raise UserError(f"{options.tiny} does not exist. Run `make tiny-model`, or leave out `tiny`.")
            gguf = str(options.tiny / "tiny-f32.gguf")
            yield "tiny, transformers", {"backend": "transformers", "path": str(options.tiny / "transformers")}
            yield "tiny, onnx", {"backend": "onnx", "path": str(options.tiny / "onnx")}
            yield "tiny, llama.cpp in process", {"backend": "llama.cpp", "path": gguf}
            yield "tiny, llama-server", {"backend": "llama.cpp", "serve": gguf}
        elif name == "smollm2":
            gguf = str(smollm2_gguf(options.work))
            yield "135M, transformers", {"backend": "transformers", "path": str(smollm2_directory(options.work))}
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
        raise UserError(f"{binary} does not exist. Run `make llm-servers`, or name it with --llama-server.")
    command = [str(binary), "-m", config.pop("serve"), "-c", "4096", "-np", "2", "-t", "1", "-tb", "2"]
    with running_server(command) as (url, pid):
        yield {**config, "url": url}, pid


def _shown(value: Any, pattern: str) -> str:
    return "" if value is None else pattern.format(value)


if __name__ == "__main__":
    raise SystemExit(main())
