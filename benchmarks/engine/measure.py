"""One measurement in one process: `python -m weft.benchmarks.engine.measure MODE FOLDER` prints one JSON line.

Owns the timed operations. Each runs in a new process, so that memory and caches are those of a user's server.

- cold: index from nothing, and save the index.
- warm: begin from the index that `cold` saved, and compare it with the disk.
- query: retrieval at random cursors, typing on, and edits until they can be retrieved, on a warm index.
- during: retrieval at random cursors while the first index is being built, and at the same ones when it is complete.
- windows: memory of a second window on the folder, with a shared server and with a server of its own.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

from ...retrieval import RetrievalOptions
from ...server.config import Config
from ...server.shared.control import running_server, stop_server
from ...server.workspace.folder import IndexReport
from ...server.workspace.folders import BACKGROUND_NICENESS
from ...server.workspace.process import freeze_garbage_collector, memory_mb, private_mb, share_interpreter
from ...server.workspace.store import cache_folder
from ...server.workspace.workspace import Workspace
from ..lsp_client import SERVER, Client, completion_params, user_environment, when_ready
from .timing import percentiles, processor_s, timed

SEED = 20230116
N_CURSORS, N_TYPED_LINES, N_EDITS = 200, 20, 60


def cold(folder: Path) -> dict[str, float]:
    """`cold_s` is until the index is complete, `saved_s` and `cpu_s` until it is also saved and mapped.

    `cpu_s` includes the worker processes.
    """
    before_s = processor_s()
    started = time.perf_counter()
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        saved_s = time.perf_counter() - started
        private = private_mb() or memory_mb()
    cpu_s = processor_s() - before_s
    return {
        "lines": report.n_lines,
        "files": report.n_files,
        "fragments": report.n_fragments,
        "cold_s": report.seconds,
        "saved_s": saved_s,
        "cold_cpu_s": cpu_s,
        "private_mb": private,
        **_on_disk(cache_folder()),
    }


def warm(folder: Path) -> dict[str, float]:
    """`warm_answer_s` is from the opening of the workspace to the first result, `verified_s` until the index equals
    the disk."""
    share_interpreter()
    cursor = next(iter(_cursors(folder)))
    before_s = processor_s()
    started = time.perf_counter()
    with Workspace([folder], Config()) as workspace:
        reports = list[IndexReport]()
        indexing = threading.Thread(target=lambda: reports.append(workspace.index(niceness=BACKGROUND_NICENESS)))
        indexing.start()
        while not workspace.retrieve(*cursor, options=RetrievalOptions()).fragments and indexing.is_alive():
            time.sleep(0.005)
        answer_s = time.perf_counter() - started
        indexing.join()
        verified_s = time.perf_counter() - started
        if not reports or not reports[0].warm or reports[0].n_reused != reports[0].n_files:
            raise SystemExit(f"The start did not use the stored index: {reports}")
        figures = {"warm_answer_s": answer_s, "verified_s": verified_s, "warm_private_mb": private_mb() or memory_mb()}
    return {**figures, "warm_cpu_s": processor_s() - before_s}


def query(folder: Path) -> dict[str, float]:
    with Workspace([folder], Config()) as workspace:
        workspace.index()
        freeze_garbage_collector()
        cursors = list(_cursors(folder))
        _timed_retrieve(workspace, *cursors[0])
        jumps = [_timed_retrieve(workspace, *cursor) for cursor in cursors]
        typed = [ms for path, line, character in cursors[:N_TYPED_LINES] for ms in _type_line(workspace, path, line)]
        edits = [_edit(workspace, path, i) for i, (path, _, _) in enumerate(cursors[:N_EDITS])]
        return {
            **percentiles("jump", jumps),
            **percentiles("typing", typed),
            **percentiles("edit", edits),
            "query_private_mb": private_mb() or memory_mb(),
        }


def during(folder: Path) -> dict[str, float]:
    """Retrieval latency while the first index is built, with an empty cache, and of the same cursors afterwards.

    Answers before the first snapshot are empty and not counted.
    """
    share_interpreter()
    cursors = list(_cursors(folder))
    with (
        tempfile.TemporaryDirectory(prefix="weft-bench-") as cache,
        Workspace([folder], Config(cache_dir=cache)) as workspace,
    ):
        indexing = threading.Thread(target=workspace.index, kwargs={"niceness": BACKGROUND_NICENESS})
        started = time.perf_counter()
        indexing.start()
        first_answer_s, asked = 0.0, list[tuple[Path, int, int]]()
        latencies = list[float]()
        for cursor in cycle(cursors):
            if not indexing.is_alive():
                break
            found, ms = _paced_retrieve(workspace, cursor)
            if found:
                asked.append(cursor)
                latencies.append(ms)
                first_answer_s = first_answer_s or time.perf_counter() - started
        indexing.join()
        workspace.flush()
        asked = asked[:N_CURSORS] if len(asked) > 1 else cursors
        quiet = [_paced_retrieve(workspace, cursor)[1] for cursor in asked]
        return {
            **percentiles("during", latencies),
            **percentiles("during_quiet", quiet),
            "during_answer_s": first_answer_s,
            "during_queries": len(latencies),
        }


def _paced_retrieve(workspace: Workspace, cursor: tuple[Path, int, int]) -> tuple[bool, float]:
    """Whether a retrieval finds anything, and its milliseconds. Twenty a second: more than a person types."""
    time.sleep(0.05)
    found, ms = timed(lambda: workspace.retrieve(*cursor, options=RetrievalOptions()))
    return bool(found.fragments), ms


def windows(folder: Path) -> dict[str, float]:
    """Private memory that a second window adds. The stored index and all settings are in WEFT_CACHE_DIR."""
    home = cache_folder()
    os.environ.update(user_environment(home))
    path, line, character = next(iter(_cursors(folder)))

    def use(window: Client) -> int:
        when_ready(window)
        uri = path.as_uri()
        window.open_document(uri, path.read_text(encoding="utf-8", errors="replace"))
        window.ask("textDocument/inlineCompletion", completion_params(uri, line, character, invoked=True))
        return window.pid

    with Client(folder, home) as first, Client(folder, home) as second:
        own_mb = [private_mb(use(window)) or 0.0 for window in (first, second)]
    with Client(folder, home, command=(*SERVER, "--shared")) as first:
        use(first)
        server = running_server()
        assert server is not None
        one_window_mb = private_mb(server.pid) or 0.0
        with Client(folder, home, command=(*SERVER, "--shared")) as second:
            relay_mb = private_mb(use(second)) or 0.0
            two_windows_mb = private_mb(server.pid) or 0.0
    stop_server()
    return {"own_window_mb": own_mb[1], "shared_window_mb": two_windows_mb - one_window_mb + relay_mb}


def _on_disk(cache: Path) -> dict[str, float]:
    """Megabytes of the stored indexes and of the stored analyses by content."""
    sizes = {name: _folder_mb(cache / name) for name in ("indexes", "analyses")}
    return {f"{name}_mb": size for name, size in sizes.items()}


def _folder_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def _cursors(folder: Path) -> Iterable[tuple[Path, int, int]]:
    """Ends of random code lines, some way into random files."""
    rng = random.Random(SEED)
    files = sorted(path for path in folder.rglob("*.py") if path.stat().st_size > 2000)
    for path in rng.choices(files, k=N_CURSORS):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        candidates = [i for i in range(10, len(lines)) if len(lines[i].strip()) > 8] or [0]
        line = rng.choice(candidates)
        yield path, line, len(lines[line])


def _timed_retrieve(workspace: Workspace, path: Path, line: int, character: int) -> float:
    return timed(lambda: workspace.retrieve(path, line, character, options=RetrievalOptions()))[1]


def _type_line(workspace: Workspace, path: Path, line: int) -> list[float]:
    """Retrieval after every key while the line is typed again, the rest of the file in place."""
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    typed = lines[line]
    indent = len(typed) - len(typed.lstrip())
    latencies = []
    workspace.open_buffer(path, text)
    for end in range(indent + 1, min(len(typed), indent + 25)):
        workspace.edit_buffer(path, "\n".join([*lines[:line], typed[:end], *lines[line + 1 :]]), end)
        latencies.append(_timed_retrieve(workspace, path, line, end))
    workspace.close_buffer(path)
    workspace.flush()
    return latencies


def _edit(workspace: Workspace, path: Path, number: int) -> float:
    """From an edit of an open file until another file's query finds the new line."""
    text = path.read_text(encoding="utf-8", errors="replace")
    workspace.open_buffer(path, text)
    workspace.flush()
    word = f"zyxuvian{number}q"
    lines = text.split("\n")
    middle = next((i for i in range(len(lines) // 2, len(lines)) if lines[i].strip()), 0)
    indentation = lines[middle][: len(lines[middle]) - len(lines[middle].lstrip())]
    edited = "\n".join([*lines[:middle], f"{indentation}{word} = 1", *lines[middle:]])
    started = time.perf_counter()
    workspace.edit_buffer(path, edited, 2)
    workspace.index_edits()
    elapsed_ms = 1e3 * (time.perf_counter() - started)
    other = path.with_name(f"unsaved_{number}.py")
    workspace.open_buffer(other, f"x = {word}")
    found = workspace.retrieve(other, 0, len(word) + 4, options=RetrievalOptions(strategy="bm25"))
    if not any(word in ranked.fragment.text for ranked in found.fragments):
        raise SystemExit(f"Retrieval does not find an edit of {path}.")
    workspace.close_buffer(other)
    workspace.close_buffer(path)
    workspace.flush()
    return elapsed_ms


MODES = {"cold": cold, "warm": warm, "query": query, "during": during, "windows": windows}

if __name__ == "__main__":
    print(json.dumps(MODES[sys.argv[1]](Path(sys.argv[2]).resolve())))
