"""The setting `memory_limit_mb`: what is given up for it, and what the status says when that is not enough."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import weft
from weft import Config, Workspace
from weft.server.workspace import memory_limit
from weft.server.workspace.memory_limit import MemoryLimit, clear_caches
from weft.server.workspace.process import private_mb

N_FILES = 400


def limited(monkeypatch: pytest.MonkeyPatch, used_mb: list[float]) -> tuple[MemoryLimit, list[str]]:
    """A limit of 100 MB with two steps, and what happens; the last of `used_mb` is measured, a step removes it."""
    happened: list[str] = []

    def step(name: str) -> None:
        happened.append(name)
        used_mb.pop()

    monkeypatch.setattr(memory_limit, "private_mb", lambda: used_mb[-1])
    steps = [functools.partial(step, name) for name in ("first", "second")]
    return MemoryLimit(100, steps, lambda is_exceeded: happened.append(f"exceeded: {is_exceeded}")), happened


def test_steps_are_taken_until_the_limit_is_kept(monkeypatch):
    limit, happened = limited(monkeypatch, [90.0, 120.0])
    limit.check()
    assert happened == ["first", "exceeded: False"] and limit.note == ""
    limit.check()
    assert happened[2:] == ["exceeded: False"]


def test_steps_that_are_not_enough_are_repeated_after_growth_only(monkeypatch):
    used_mb = [70.0, 150.0, 160.0, 170.0]
    limit, happened = limited(monkeypatch, used_mb)
    limit.check()
    assert happened == ["first", "second", "exceeded: True"]
    assert "takes 150 MB of memory, more than `memory_limit_mb` (100 MB)" in limit.note
    limit.check()
    assert happened[3:] == ["exceeded: True"]
    used_mb.append(158.0)
    limit.check()
    assert happened[4:] == ["first", "second", "exceeded: False"] and limit.note == ""


def test_large_caches_of_functions_are_cleared(monkeypatch):
    large = functools.lru_cache(maxsize=100)(str)
    small = functools.lru_cache(maxsize=1)(str)
    monkeypatch.setattr(memory_limit, "_large", large, raising=False)
    monkeypatch.setattr(memory_limit, "_small", small, raising=False)
    large(1), small(1)
    clear_caches()
    assert (large.cache_info().currsize, small.cache_info().currsize) == (0, 1)


@pytest.mark.slow
@pytest.mark.skipif(private_mb() is None, reason="this system does not report private memory")
def test_a_process_above_its_limit_maps_its_index_and_says_what_is_left(tmp_path):
    """Of a large index built in the process, much is given back; a limit that cannot be kept is a note."""
    folder = tmp_path / "project"
    folder.mkdir()
    for i in range(N_FILES):
        lines = (
            f"def name_{i}_{j}(first_{j}, second):\n    return other_{i}_{j}(first_{j}) + second" for j in range(80)
        )
        (folder / f"part_{i}.py").write_text("\n\n\n".join(lines))
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(os.path.abspath(weft.__file__)).parents[1]),
        "WEFT_CACHE_DIR": str(tmp_path / "cache"),
    }
    arguments = [sys.executable, "-c", f"from {__name__} import *; report_process({str(folder)!r})"]
    environment["PYTHONPATH"] += os.pathsep + str(Path(__file__).parent)
    output = subprocess.run(arguments, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    report: dict[str, Any] = json.loads(output)
    assert report["after_mb"] < 0.8 * report["before_mb"]
    assert report["n_files"] == N_FILES and report["found"]
    assert ["memory_limit_mb" in note for note in report["notes"]] == [True]
    assert report["n_saved"] == 1  # nothing has changed since the index was saved and mapped


def report_process(folder: str) -> None:
    """In the process: index here, exceed the limit, and print what happens."""
    from weft.server.workspace import folder as folder_module
    from weft.server.workspace.folder import Folder
    from weft.server.workspace.store import Store

    folder_module.BUILDER_BYTES = 1 << 40
    Folder.map_saved = lambda self: None  # type: ignore[method-assign]
    saved: list[Path] = []
    save = Store.save
    Store.save = lambda self, path, *rest: saved.append(path) or save(self, path, *rest)  # type: ignore[method-assign,func-returns-value]
    with Workspace([folder], Config(memory_limit_mb=1)) as workspace:
        workspace.index()
        before_mb = private_mb()
        workspace._check_memory()
        after_mb = private_mb()
        status = workspace.status()
        path = Path(folder, "new.py")
        workspace.open_buffer(path, "name_7_7")
        found = [ranked.fragment.text for ranked in workspace.retrieve(path, 0, 8).fragments]
        notes = [note for note in status.all_notes if "MB" in note]
        report = {
            **{"before_mb": before_mb, "after_mb": after_mb, "n_files": status.n_files, "notes": notes},
            **{"found": any("def name_7_7(" in text for text in found), "n_saved": len(saved)},
        }
    print(json.dumps(report))
