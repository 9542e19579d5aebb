"""Completion of one task by one model in one setting, as an editor would get it, scored.

Owns the steps from a task to a row: cursor, retrieval, model, stop rules, repair, score. The steps are functions of the
server. Knows no table and no file of results.

The file of a task ends at its cursor. Retrieval and the workspace model leave out what the index holds of that file;
with `suffix` the model and the repair also see the code after the target.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from ...llm import CodeModel, CompletionRequest, WorkspaceModel
from ...retrieval import RankedFragment, RetrievalOptions
from ...server.completion import Cursor
from ...server.completion.confidence import least_probability
from ...server.completion.iterate import LINES_4K, Loop, Round, best_of, oracle, rounds
from ...server.completion.model_request import request_for, retrieve_at
from ...server.completion.postprocess import postprocess
from ...server.completion.stopping import Stopping
from ...server.completion.syntax_context import syntax_context_at
from ...server.completion.values import Written
from ...server.completion.writing import write
from ...server.config import CompletionOptions, Config
from ...server.config.options import index_settings
from ...server.workspace.analysis import analyse
from ...server.workspace.snapshot import FolderSnapshot
from ...server.workspace.text import TextLines
from ..repoeval.metrics import is_right_so_far, score_completion
from ..repoeval.sources import SourceFile
from ..repoeval.tasks import Task
from .argument_tasks import KIND as ARGUMENTS
from .argument_tasks import arguments_in
from .settings import Setting

THRESHOLD = CompletionOptions().min_confidence

N_CANDIDATES = 6
"""Texts for one cursor, of which one may be right."""


@dataclass(frozen=True, slots=True)
class CompletionRow:
    """The result of a task in a setting.

    `text`, `exact_match`, `edit_similarity` and `confidence` are those of the engine without its confidence threshold;
    `raw_exact_match` is that of the model's text before repair. `shown` is the text at the default threshold, "" for
    none; it is right if the truth begins with it. A confidence is None where the model gives no probabilities.
    """

    task_id: str
    setting: str
    unique: bool
    text: str
    exact_match: float
    edit_similarity: float
    raw_exact_match: float
    confidence: float | None
    shown: str
    shown_confidence: float | None
    shown_right: float | None  # None if nothing is shown
    shown_whole: bool  # all of `text` is shown
    backend: str
    family: str
    ms: float
    prompt_tokens: int | None
    new_tokens: int
    among_candidates: float | None  # the exact match of the best of N_CANDIDATES; None for a model without others

    @property
    def repo(self) -> str:
        return self.task_id.split("/")[0]

    @property
    def kind(self) -> str:
        return self.task_id.split("/")[1]


@dataclass(frozen=True, slots=True)
class Repository:
    """A checkout, indexed as by the server."""

    sources: Mapping[str, SourceFile]
    snapshot: FolderSnapshot

    @classmethod
    def of(cls, name: str, sources: Mapping[str, SourceFile], manifests: Mapping[str, str] | None = None) -> Repository:
        empty = FolderSnapshot.empty(index_settings(Config(), name))
        texts = {path: source.text for path, source in sources.items()} | dict(manifests or {})
        return cls(sources, empty.with_changes(analyse(path, text) for path, text in texts.items()))


def answer(
    repository: Repository, task: Task, setting: Setting, model: CodeModel | None, *, suffix: bool = False
) -> CompletionRow:
    """The row of one task. `model` None asks the repository's own. Raises ModelError."""
    snapshot = repository.snapshot
    source = repository.sources[task.path]
    cursor = cursor_of(task, source, suffix=suffix)
    single_line = task.kind != "api"
    loop = loop_at(snapshot, cursor, model, setting.retrieval, single_line=single_line)
    started = time.perf_counter()
    done = _run_mode(loop, setting, task, source)
    completion = postprocess(done.written, cursor, single_line=single_line)
    seconds = time.perf_counter() - started
    score = score_completion(task.ground_truth, _scored(task, completion.text))
    written = done.written if model is not None else _written_above_threshold(snapshot, cursor, setting, single_line)
    shown = postprocess(written, cursor, single_line=single_line, min_confidence=THRESHOLD)
    report = getattr(loop.model, "last_stats", None)
    return CompletionRow(
        task_id=task.task_id,
        setting=setting.name,
        unique=task.unique_in_repo,
        text=completion.text,
        exact_match=score.exact_match,
        edit_similarity=score.edit_similarity,
        raw_exact_match=score_completion(task.ground_truth, _scored(task, done.written.text)).exact_match,
        confidence=completion.confidence,
        shown=shown.text,
        shown_confidence=shown.confidence if shown.text else None,
        shown_right=float(is_right_so_far(task.ground_truth, _scored(task, shown.text))) if shown.text else None,
        shown_whole=bool(shown.text) and shown.text == completion.text,
        backend=done.written.backend,
        family=done.written.family,
        ms=1e3 * seconds,
        prompt_tokens=None if report is None else report.prompt_tokens,
        new_tokens=loop.model.count_tokens(done.written.text),
        among_candidates=None if model is not None or not single_line else _best_candidate(loop, task, done.written),
    )


def _scored(task: Task, text: str) -> str:
    """The part of a text that counts: of argument tasks the arguments, with the bracket that closes them."""
    if task.kind != ARGUMENTS:
        return text
    arguments = arguments_in(text)
    return text if arguments is None else arguments


def _best_candidate(loop: Loop, task: Task, first: Written) -> float:
    """The exact match of the best of the first text and its alternatives."""
    assert isinstance(loop.model, WorkspaceModel)
    request = request_of(loop)
    others = islice(loop.model.alternatives(request, first.text, loop.cancel), N_CANDIDATES - 1)
    written = [first, *(Written(((each.text, each.probability),), "", first.backend, first.family) for each in others)]
    texts = [postprocess(each, loop.cursor, single_line=True).text for each in written]
    return max(score_completion(task.ground_truth, _scored(task, text)).exact_match for text in texts)


def loop_at(
    snapshot: FolderSnapshot,
    cursor: Cursor,
    model: CodeModel | None,
    retrieval: RetrievalOptions,
    *,
    single_line: bool,
    max_new_tokens: int = LINES_4K.max_new_tokens,
    threshold: float = 0.0,
) -> Loop:
    """The loop of the server; `model` None is the snapshot's own model with this threshold."""
    return Loop(
        snapshot,
        snapshot.model.with_threshold(threshold) if model is None else model,
        cursor,
        Config(),
        retrieval,
        stopping=partial(Stopping, cursor, syntax_context_at(cursor), single_line=single_line),
        single_line=single_line,
        max_new_tokens=max_new_tokens,
    )


def _written_above_threshold(snapshot: FolderSnapshot, cursor: Cursor, setting: Setting, single_line: bool) -> Written:
    """The text of the snapshot's own model while typing: its search stops where no part reaches the threshold.

    The model reads no fragments, so the mode of the setting changes nothing.
    """
    least = least_probability(THRESHOLD)
    loop = loop_at(snapshot, cursor, None, setting.retrieval, single_line=single_line, threshold=least)
    return as_server(loop).written


def _run_mode(loop: Loop, setting: Setting, task: Task, source: SourceFile) -> Round:
    """The result of the setting's mode, cut where the engine would stop it."""
    if setting.mode == "server":
        return as_server(loop)
    if setting.mode == "oracle":
        # The lines that follow are not requested: it may end where it would be cut.
        return oracle(replace(loop, single_line=False), source.text[task.prefix_end + task.col :])
    # The rounds ask for the lines that follow too, as RepoCoder's do.
    writing_on = replace(loop, stopping=None, single_line=False)
    done = [_stopped(loop, each) for each in rounds(writing_on, setting.n_rounds)]
    if setting.mode == "rounds":
        return done[-1]
    return best_of(done, lambda each: score_completion(task.ground_truth, each.written.text).edit_similarity)


def as_server(loop: Loop) -> Round:
    """One round as the server has it. Raises ModelError."""
    found = retrieve_at(loop.snapshot, loop.cursor, loop.retrieval)
    request = request_of(loop, found.fragments)
    assert loop.stopping is not None
    # Models keep the order of blocks of the last prompt for a file; here no task may depend on another.
    written = write(loop.model, replace(request, in_score_order=True), loop.stopping(), loop.cancel)
    return Round(None, found.fragments, written)


def request_of(loop: Loop, fragments: Sequence[RankedFragment] = ()) -> CompletionRequest:
    """The request at the loop's cursor, as the server makes it."""
    return request_for(
        loop.snapshot,
        loop.cursor,
        loop.config,
        fragments,
        loop.model,
        single_line=loop.single_line,
        max_new_tokens=loop.max_new_tokens,
        cancel=loop.cancel,
    )


def _stopped(loop: Loop, done: Round) -> Round:
    assert loop.stopping is not None
    end = loop.stopping().end_of(done.written.text)
    return done if end is None else replace(done, written=done.written.cut(end))


def cursor_of(task: Task, source: SourceFile, *, suffix: bool) -> Cursor:
    """The task's cursor in a text that ends there, or, with `suffix`, goes on behind the target."""
    at = task.prefix_end + task.col
    text = source.text[:at] + (source.text[at + len(task.ground_truth) :] if suffix else "")
    lines = TextLines(text)
    return Cursor(task.path, lines, *lines.position(at))
