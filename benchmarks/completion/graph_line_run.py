"""`weft bench completion --graph-lines`: what signature help in a prompt adds, by its form and place.

Owns the run over forms, its rows and its table. The prompt has the file alone: nothing is retrieved.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...llm import Cancel, CodeModel, CompletionRequest
from ...retrieval import RetrievalOptions
from ...server.completion.iterate import Loop
from ...server.completion.postprocess import postprocess
from ...server.completion.writing import write
from ..bootstrap import bootstrap_interval, grouped, mean
from ..command import Report, say
from ..models import ModelSpec, open_spec, shown_name
from ..repoeval.checkouts import CheckoutFiles, checkouts, tasks_of
from ..repoeval.metrics import score_completion
from ..repoeval.tasks import Task
from ..rows import RowCache
from ..tables import bracketed, markdown, number
from .answering import Repository, cursor_of, loop_at, request_of
from .graph_line_forms import FORMS, in_form
from .graph_line_prefill import prefilled_per_key
from .graph_line_tasks import CALL, graph_line_tasks, known_at
from .mid_line import KIND as MID_LINE
from .store import row_cache

MAX_NEW_TOKENS = 60
DEFAULT_TASKS = 50
"""Of a repository."""
PREFILL_EVERY = 8
"""One of so many tasks is typed, to count the tokens that are read again."""


@dataclass(frozen=True, slots=True)
class FormRow:
    """The result of a task in one form."""

    task_id: str
    form: str
    unique: bool
    text: str
    exact_match: float
    edit_similarity: float
    prompt_tokens: int | None

    @property
    def repo(self) -> str:
        return self.task_id.split("/")[0]

    @property
    def kind(self) -> str:
        return self.task_id.split("/")[1]


def measure_graph_lines(options: argparse.Namespace) -> Report:
    """The report of a run. Raises UserError."""
    (spelling,) = options.model
    spec = ModelSpec(spelling, options.context, options.quantise)
    rows: list[FormRow] = []
    per_key: dict[str, list[float]] = {form: [] for form in options.graph_lines}
    for repository, tasks, cache in _repositories(options, spec):
        for at, task in enumerate(tasks):
            rows += _rows(repository, task, cache, options.graph_lines, _opened(spec))
            if at % PREFILL_EVERY == 0:
                for form, values in per_key.items():
                    values += _prefilled(repository, task, form, _opened(spec))
    forms = {form: [row for row in rows if row.form == form] for form in options.graph_lines}
    text = f"## {shown_name(spelling)}, {options.half} half\n\n{table(forms, per_key)}"
    figures = {"model": shown_name(spelling), "half": options.half, "forms": summary(forms)}
    limit = "" if options.limit is None else f"--limit {options.limit} "
    command = (
        f"weft bench completion --model {shown_name(spelling)} --quantise {options.quantise} "
        f"--context {options.context} {limit}--half {options.half} --graph-lines {' '.join(options.graph_lines)}"
    )
    return Report("completion", text, figures, "Signature help in prompts", command=command)


def _repositories(
    options: argparse.Namespace, spec: ModelSpec
) -> Iterator[tuple[Repository, list[Task], RowCache[FormRow]]]:
    for checkout in checkouts(options):
        files = CheckoutFiles.read(checkout)
        repository = Repository.of(checkout.repo, files.sources, files.manifests)
        drawn = tasks_of(checkout, files, options.work)
        tasks = graph_line_tasks(repository, drawn, options.half, options.limit or DEFAULT_TASKS)
        cache = row_cache(options.work / "graph-lines", checkout.repo, files, spec, FormRow, suffix=False)
        say(f"{checkout.repo}: {len(tasks)} tasks")
        yield repository, tasks, cache


def _rows(
    repository: Repository, task: Task, cache: RowCache[FormRow], forms: Sequence[str], model: CodeModel
) -> list[FormRow]:
    """A row for each form, from the cache where it has one."""
    cached = {row.form: row for row in cache.rows() if row.task_id == task.task_id}
    missing = [form for form in forms if form not in cached]
    found = answer_in_forms(repository, task, missing, model) if missing else []
    cache.add(found)
    return [*found, *(row for form, row in cached.items() if form in forms)]


def _prefilled(repository: Repository, task: Task, form: str, model: CodeModel) -> list[float]:
    """The tokens that are read again per key; nothing of a model that shows no tokens."""
    prompt_tokens = getattr(model, "prompt_tokens", None)
    if prompt_tokens is None:
        return []

    def request_at(at: Task) -> CompletionRequest:
        return in_form(request_of(_loop(repository, at, model)), known_at(repository, at), FORMS[form], model)

    return [prefilled_per_key(repository, task, request_at, prompt_tokens)]


def _opened(spec: ModelSpec) -> CodeModel:
    model = open_spec(spec)
    assert model is not None, "the workspace model reads no prompt"
    return model


def answer_in_forms(repository: Repository, task: Task, forms: Sequence[str], model: CodeModel) -> list[FormRow]:
    """A row of a task for each form; equal prompts are answered once. Raises ModelError."""
    loop = _loop(repository, task, model)
    known = known_at(repository, task)
    found: dict[str, FormRow] = {}
    rows = []
    for form in forms:
        request = in_form(request_of(loop), known, FORMS[form], model)
        if request.prefix not in found:
            found[request.prefix] = _answer(loop, request, task, form)
        rows.append(replace(found[request.prefix], form=form))
    return rows


def _loop(repository: Repository, task: Task, model: CodeModel) -> Loop:
    cursor = cursor_of(task, repository.sources[task.path], suffix=False)
    options = RetrievalOptions(strategy="none")
    return loop_at(repository.snapshot, cursor, model, options, single_line=True, max_new_tokens=MAX_NEW_TOKENS)


def _answer(loop: Loop, request: CompletionRequest, task: Task, form: str) -> FormRow:
    assert loop.stopping is not None
    written = write(loop.model, request, loop.stopping(), Cancel())
    completion = postprocess(written, loop.cursor, single_line=True)
    score = score_completion(task.ground_truth, completion.text)
    stats: Any = getattr(loop.model, "last_stats", None)
    return FormRow(
        task_id=task.task_id,
        form=form,
        unique=task.unique_in_repo,
        text=completion.text,
        exact_match=score.exact_match,
        edit_similarity=score.edit_similarity,
        prompt_tokens=None if stats is None else stats.prompt_tokens,
    )


def table(forms: Mapping[str, Sequence[FormRow]], per_key: Mapping[str, Sequence[float]]) -> str:
    """Exact match and edit similarity of each form, with the interval of the difference to the first one.

    `per_key` are tokens that the model reads again per key.
    """
    baseline = next(iter(forms.values()))
    kinds = {"": "all", MID_LINE: "mid-line", CALL: "behind the bracket"}
    counts = {kind: sum(row.kind in (kind or row.kind) for row in baseline) for kind in kinds}
    head = ["form", *(f"{part} of {counts[kind]} {name}" for kind, name in kinds.items() for part in ("EM", "ES"))]
    lines = []
    for form, rows in forms.items():
        cells = []
        for kind in kinds:
            ours, theirs = ([row for row in of if kind in ("", row.kind)] for of in (rows, baseline))
            cells += [_cell(ours, theirs, "exact_match"), _cell(ours, theirs, "edit_similarity")]
        tokens = mean(row.prompt_tokens for row in rows if row.prompt_tokens is not None)
        lines.append([form, *cells, number(tokens, "{:.0f}"), number(mean(per_key.get(form, ())))])
    return markdown([*head, "tokens of prompt", "read again per key"], lines)


def summary(forms: Mapping[str, Sequence[FormRow]]) -> dict[str, dict[str, float]]:
    """The same figures for machines."""
    return {
        form: {
            "n": len(rows),
            "em": round(100 * mean(row.exact_match for row in rows), 2),
            "es": round(100 * mean(row.edit_similarity for row in rows), 2),
        }
        for form, rows in forms.items()
        if rows
    }


def _cell(rows: Sequence[FormRow], baseline: Sequence[FormRow], value: str) -> str:
    if not rows:
        return "-"
    theirs = {row.task_id: getattr(row, value) for row in baseline}
    strata = grouped(rows, lambda row: row.repo, lambda row: 100 * (getattr(row, value) - theirs[row.task_id]))
    interval = "" if rows == baseline else bracketed(bootstrap_interval(strata, equal_strata=False))
    return f"{100 * mean(getattr(row, value) for row in rows):.1f}{interval}"
