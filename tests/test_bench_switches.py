"""The benchmark of branch switches: its repository, and that a switch back is measured on known content."""

from __future__ import annotations

from pathlib import Path

import pytest
from weft.benchmarks.engine.switches import make_repository, measure
from weft.server.workspace.analysis_run import AnalysisRun
from weft.server.workspace.folder import Folder
from weft.server.workspace.store import CACHE_VARIABLE

N_FILES = 110


def test_each_step_is_measured_on_the_branch_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    source = tmp_path / "source"
    source.mkdir()
    for number in range(N_FILES):
        (source / f"part_{number}.py").write_text(f"def call_{number}(x):\n    return x + {number}\n")
    folder = tmp_path / "project"
    assert make_repository(source, folder, N_FILES - 5) == N_FILES - 5
    analysed: list[int] = []
    results_of = AnalysisRun.results

    def counting(self, todo, *arguments):  # type: ignore[no-untyped-def]
        for result in results_of(self, todo, *arguments):
            analysed[-1] += len(result.analyses)
            yield result

    monkeypatch.setattr(AnalysisRun, "results", counting)
    index_folder = Folder.index
    monkeypatch.setattr(Folder, "index", lambda self, *a, **k: (analysed.append(0), index_folder(self, *a, **k))[1])
    row = measure(folder, "switches")
    assert analysed == [N_FILES, N_FILES - 5, 0, 0, 0, 0]  # what is merged: nothing after the first switch
    assert row["lines"] == 2 * N_FILES
    assert (folder / "part_0.py").read_text() == (source / "part_0.py").read_text()  # `main` is checked out again
    assert set(measure(folder, "known")) == {"known_content_s", "known_content_cpu_s"}
