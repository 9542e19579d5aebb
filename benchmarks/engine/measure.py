"""One measurement in one process: `python -m weft.benchmarks.engine.measure MODE FOLDER` prints one JSON line.

Owns the timed operations. Each runs in a new process, so that memory and caches are those of a user's server.

- cold: index from nothing.
- warm: index again from the cache that `cold` wrote.
- query: retrieval at random cursors, typing on, and edits until they can be retrieved, on a warm index.
- during: retrieval at random cursors while the first index is being built.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from ...retrieval import RetrievalOptions
from ...server.config import Config
from ...server.workspace.folders import BACKGROUND_NICENESS
from ...server.workspace.process import freeze_garbage_collector, memory_mb, private_mb, share_interpreter
from ...server.workspace.workspace import Workspace
from .timing import percentiles, timed

SEED = 20230116
N_CURSORS, N_TYPED_LINES, N_EDITS = 200, 20, 60


def cold(folder: Path) -> dict[str, float]:
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        return {
            "seconds": report.seconds,
            "lines": report.n_lines,
            "files": report.n_files,
            "fragments": report.n_fragments,
            "lines_per_s": report.n_lines / report.seconds,
            "memory_mb": memory_mb(),
            "private_mb": private_mb() or memory_mb(),
        }


def warm(folder: Path) -> dict[str, float]:
    with Workspace([folder], Config()) as workspace:
        report = workspace.index()
        if not report.warm or report.n_reused != report.n_files:
            raise SystemExit(f"The start did not use the cached index: {report}")
        return {"seconds": report.seconds, "memory_mb": memory_mb(), "private_mb": private_mb() or memory_mb()}


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
            "memory_mb": memory_mb(),
        }


def during(folder: Path) -> dict[str, float]:
    """Retrieval latency while the first index is built, with an empty cache."""
    share_interpreter()
    cursors = list(_cursors(folder))
    options = RetrievalOptions()
    with (
        tempfile.TemporaryDirectory(prefix="weft-bench-") as cache,
        Workspace([folder], Config(cache_dir=cache)) as workspace,
    ):
        indexing = threading.Thread(target=workspace.index, kwargs={"niceness": BACKGROUND_NICENESS})
        started = time.perf_counter()
        indexing.start()
        first_answer_s, latencies, i = 0.0, [], 0
        while indexing.is_alive():
            cursor = cursors[i % len(cursors)]
            i += 1
            found, ms = timed(partial(workspace.retrieve, *cursor, options=options))
            if found.fragments:
                latencies.append(ms)
                first_answer_s = first_answer_s or time.perf_counter() - started
            time.sleep(0.05)  # twenty requests a second are more than a person types
        indexing.join()
        return {**percentiles("during", latencies), "first_answer_s": first_answer_s, "queries": len(latencies)}


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
    workspace.flush()
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


MODES = {"cold": cold, "warm": warm, "query": query, "during": during}

if __name__ == "__main__":
    print(json.dumps(MODES[sys.argv[1]](Path(sys.argv[2]).resolve())))
