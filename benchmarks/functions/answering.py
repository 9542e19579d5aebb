"""The body that a model writes in a setting, scored by the tests of the repository.

Owns the settings, the windows of RepoCoder for bodies, and the steps from a task to a row. Runs tests only in the
sandbox that it is given. Knows no table.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...llm import CodeModel
from ...retrieval import RetrievalOptions
from ...retrieval.fragments import Slicing
from ...retrieval.repocoder import REPOCODER
from ...server.completion.iterate import Loop, oracle, rounds
from ...server.completion.stopping import Stopping
from ...server.completion.values import Written
from ...server.config import Config
from ...server.config.options import index_settings
from ...server.workspace.analysis import analyse
from ...server.workspace.snapshot import FolderSnapshot
from ..completion.answering import as_server, cursor_of, loop_at
from ..completion.settings import Setting
from ..repoeval.metrics import score_completion
from ..repoeval.sources import SourceFile
from .bodies import body_end, compiles, indent_of, truncated, with_body
from .repositories import Repository
from .sandbox import Sandbox
from .tasks import FunctionTask, passes

WINDOWS = Slicing(n_lines=50, stride=10)
"""RepoCoder's windows for function bodies (papers' spec 2.3)."""

_REPOCODER = replace(REPOCODER, query_lines=WINDOWS.n_lines)

SETTINGS: Mapping[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting("none", RetrievalOptions(strategy="none")),
        Setting("repocoder", replace(_REPOCODER, shift=True), mode="rounds"),
        Setting("repocoder-2", replace(_REPOCODER, shift=True), mode="rounds", n_rounds=2),
        Setting("repocoder-oracle", _REPOCODER, mode="oracle"),
        Setting("fragrel", RetrievalOptions(strategy="fragrel")),
        Setting("weft"),
    )
}
"""In-file, RepoCoder's single retrieval, its two rounds and its oracle with windows of 50 lines; then windows of 20."""


@dataclass(frozen=True, slots=True)
class FunctionRow:
    """The result of a task in a setting. `text` is the body as far as RepoCoder's truncation keeps it."""

    task_id: str
    setting: str
    text: str
    passed: float
    edit_similarity: float
    ms: float
    new_tokens: int

    @property
    def repo(self) -> str:
        return self.task_id.split("/")[0]


class BodyStopping(Stopping):
    """Stops at the end of the function's body."""

    def __init__(self, indent: int) -> None:
        self._indent = indent

    def end_of(self, text: str) -> int | None:
        return body_end(text, self._indent)


class Answering:
    """The tasks of one repository: its two indexes, and the bodies that were tested."""

    def __init__(
        self, sandbox: Sandbox, repository: Repository, tree: Path, sources: Mapping[str, SourceFile], new_tokens: int
    ) -> None:
        self._sandbox, self._repository, self._tree, self._sources = sandbox, repository, tree, sources
        self._new_tokens = new_tokens
        settings = index_settings(Config(), repository.name)
        self._snapshot = self._indexed(FolderSnapshot.empty(settings))
        self._of_windows = self._indexed(FolderSnapshot.empty(replace(settings, slicing=WINDOWS)))
        self._tested: dict[tuple[str, str], bool] = {}

    def answer(self, each: FunctionTask, setting: Setting, model: CodeModel | None) -> FunctionRow:
        """The row of one task; `model` None is the repository's own. Raises ModelError and SandboxError."""
        task, source = each.task, self._sources[each.task.path]
        indent = len(indent_of(source, each.function).expandtabs(8))
        snapshot = self._of_windows if setting.name.startswith("repocoder") else self._snapshot
        cursor = cursor_of(task, source, suffix=False)
        loop = loop_at(snapshot, cursor, model, setting.retrieval, single_line=False, max_new_tokens=self._new_tokens)
        loop = replace(loop, stopping=lambda: BodyStopping(indent))
        started = time.perf_counter()
        written = _written(loop, setting, source.text[task.prefix_end :])
        seconds = time.perf_counter() - started
        text = truncated(written.text, indent)
        return FunctionRow(
            task_id=task.task_id,
            setting=setting.name,
            text=text,
            passed=float(self._passes(each, text)),
            edit_similarity=score_completion(task.ground_truth, text).edit_similarity,
            ms=1e3 * seconds,
            new_tokens=loop.model.count_tokens(written.text),
        )

    def _passes(self, each: FunctionTask, text: str) -> bool:
        """Whether the tests pass; the same body is tested once, and what is no Python not at all."""
        key = (each.task.task_id, text)
        if key not in self._tested:
            source = self._sources[each.task.path]
            self._tested[key] = compiles(with_body(source, each.function, text)) and passes(
                self._sandbox, self._repository, self._tree, source, each.function, each.tests, text
            )
        return self._tested[key]

    def _indexed(self, empty: FolderSnapshot) -> FolderSnapshot:
        return empty.with_changes(analyse(path, source.text) for path, source in self._sources.items())


def _written(loop: Loop, setting: Setting, truth: str) -> Written:
    if setting.mode == "server":
        return as_server(loop).written
    if setting.mode == "oracle":
        return oracle(loop, truth).written
    return list(rounds(loop, setting.n_rounds))[-1].written
