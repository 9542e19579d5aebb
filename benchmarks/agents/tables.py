"""Rows of agents, and the figures and tables made of them.

Owns what is counted as a better task. Knows no commit and no tool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..tables import markdown, number, percent
from .loops import GREP, GREP_OF_FUNCTIONS, GREP_WITH_CONTEXT, IMPACT, Found
from .tasks import Task

Tokens = Callable[["TaskRow"], int]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """What one agent listed and read for one task."""

    repository: str
    language: str
    commit: str
    name: str
    agent: str
    n_places: int  # with the name
    n_found: int
    n_read: int  # of them, with their code
    n_nameless: int  # places without the name
    n_nameless_found: int
    n_shown: int
    n_tokens: int
    n_read_tokens: int
    n_calls: int
    seconds: float
    n_uses: int = 0  # of the places, those where the name has no other meaning
    n_uses_read: int = 0

    @classmethod
    def of(cls, task: Task, language: str, agent: str, found: Found) -> TaskRow:
        return cls(
            task.repository,
            language,
            task.commit,
            task.name,
            agent,
            len(task.places),
            len(task.places & found.places),
            len(task.places & found.read),
            len(task.nameless),
            len(task.nameless & found.places),
            len(found.places),
            found.n_tokens,
            found.n_read_tokens,
            found.n_calls,
            found.seconds,
            len(task.places - task.unrelated),
            len((task.places - task.unrelated) & found.read),
        )

    @property
    def task(self) -> tuple[str, str]:
        return self.repository, self.commit

    @property
    def n_all_tokens(self) -> int:
        return self.n_tokens + self.n_read_tokens


def figures_of(rows: Sequence[TaskRow]) -> dict[str, Any]:
    """The figures of the three tables, by agent."""
    named, nameless = [row for row in rows if row.n_places], [row for row in rows if row.n_nameless]
    return {
        "found": {agent: _found(_of(named, agent)) for agent in _agents(named)},
        "read": {
            agent: _read(_of(named, agent)) for agent in _agents(named) if any(r.n_read for r in _of(named, agent))
        },
        "nameless": {agent: _nameless(_of(nameless, agent)) for agent in _agents(nameless)},
    }


def parts_of(rows: Sequence[TaskRow]) -> list[str]:
    """The tables as Markdown, each below its heading."""
    figures, named = figures_of(rows), [row for row in rows if row.n_places]
    nameless = [row for row in rows if row.n_nameless]
    return [
        "### Places found",
        _found_table(figures["found"], named),
        "### Places found and read",
        _read_table(figures["read"], named),
        "### Places without the name",
        _nameless_table(figures["nameless"]),
        "### By language",
        _by(named, nameless, "language", lambda row: row.language),
        "### By repository",
        _by(named, nameless, "repository", lambda row: row.repository),
    ]


def each_task(rows: Sequence[TaskRow]) -> str:
    """One line for each task and agent."""
    head = ("task", "agent", "found", "read", "without the name", "shown", "tokens", "with code", "CPU ms")
    cells = [
        [
            f"{row.repository} {row.commit[:10]} {row.name}",
            row.agent,
            f"{row.n_found} of {row.n_places}",
            str(row.n_read),
            f"{row.n_nameless_found} of {row.n_nameless}",
            str(row.n_shown),
            str(row.n_tokens),
            str(row.n_all_tokens),
            f"{1e3 * row.seconds:.0f}",
        ]
        for row in rows
    ]
    return markdown(head, cells)


def better(rows: Sequence[TaskRow], other: str, is_read: bool) -> tuple[int, int]:
    """The tasks in which `impact` is better than another agent, and those in which it is worse.

    More places are better, and with as many places fewer tokens are.
    """
    mine, theirs = ({row.task: row for row in _of(rows, agent)} for agent in (IMPACT, other))
    n_better = n_worse = 0
    for task, row in mine.items():
        one, two = (_cost(each, is_read) for each in (row, theirs[task]))
        n_better += one < two
        n_worse += one > two
    return n_better, n_worse


def _cost(row: TaskRow, is_read: bool) -> tuple[int, int]:
    """What is less for a better agent: places that it lacks, then tokens."""
    if is_read:
        return row.n_places - row.n_read, row.n_all_tokens
    return row.n_places - row.n_found, row.n_tokens


def _found(rows: Sequence[TaskRow]) -> dict[str, Any]:
    return {
        "tasks": len(rows),
        "places": sum(row.n_places for row in rows),
        "recall": _share(rows, lambda row: row.n_found, lambda row: row.n_places),
        "complete": sum(row.n_found == row.n_places for row in rows) / len(rows),
        "shown": sum(row.n_shown for row in rows) / len(rows),
        "calls": sum(row.n_calls for row in rows) / len(rows),
        **_tokens(rows, lambda row: row.n_tokens),
        "ms": 1e3 * sorted(row.seconds for row in rows)[int(0.95 * (len(rows) - 1))],
    }


def _read(rows: Sequence[TaskRow]) -> dict[str, Any]:
    recall = _share(rows, lambda row: row.n_read, lambda row: row.n_places)
    recall_of_uses = _share(rows, lambda row: row.n_uses_read, lambda row: row.n_uses)
    uses = {"uses": sum(row.n_uses for row in rows), "recall of uses": recall_of_uses}
    return {"recall": recall, **uses, **_tokens(rows, lambda row: row.n_all_tokens)}


def _nameless(rows: Sequence[TaskRow]) -> dict[str, Any]:
    return {
        "tasks": len(rows),
        "places": sum(row.n_nameless for row in rows),
        "recall": _share(rows, lambda row: row.n_nameless_found, lambda row: row.n_nameless),
        "shown": sum(row.n_shown for row in rows) / len(rows),
        **_tokens(rows, lambda row: row.n_tokens),
    }


def _tokens(rows: Sequence[TaskRow], of: Tokens) -> dict[str, float]:
    return {"tokens": sum(map(of, rows)) / len(rows), "median tokens": median(map(of, rows))}


def _share(rows: Sequence[TaskRow], part: Tokens, whole: Tokens) -> float:
    return sum(map(part, rows)) / (sum(map(whole, rows)) or 1)


def _of(rows: Iterable[TaskRow], agent: str) -> list[TaskRow]:
    return [row for row in rows if row.agent == agent]


def _agents(rows: Iterable[TaskRow]) -> list[str]:
    return list(dict.fromkeys(row.agent for row in rows))


def _found_table(figures: Mapping[str, Mapping[str, Any]], rows: Sequence[TaskRow]) -> str:
    lines = []
    for agent, each in figures.items():
        cells = [number(each["tasks"], "{:.0f}"), number(each["places"], "{:.0f}")]
        cells += [percent(each["recall"]), percent(each["complete"]), number(each["shown"]), number(each["calls"])]
        cells += _compared(agent, each, figures[IMPACT], rows, is_read=False)
        lines.append([agent, *cells, number(each["ms"]) if each["ms"] else "-"])
    head = ("agent", "tasks", "places", "recall", "tasks with all places", "places shown", "calls", *_COMPARED)
    return markdown((*head, "p95 CPU ms"), lines)


_COMPARED = ("tokens a task", "median", "`impact` reads less by, %", "of the median, %", "`impact` better : worse")


def _compared(
    agent: str, each: Mapping[str, Any], first: Mapping[str, Any], rows: Sequence[TaskRow], *, is_read: bool
) -> list[str]:
    tokens = [number(each["tokens"], "{:,.0f}"), number(each["median tokens"], "{:,.0f}")]
    if agent.startswith(IMPACT):
        return [*tokens, "-", "-", "-"]
    less = [percent(1 - first[which] / each[which]) for which in ("tokens", "median tokens")]
    return [*tokens, *less, "{} : {}".format(*better(rows, agent, is_read))]


def _read_table(figures: Mapping[str, Mapping[str, Any]], rows: Sequence[TaskRow]) -> str:
    lines = []
    for agent, each in figures.items():
        cells = [percent(each["recall"]), str(each["uses"]), percent(each["recall of uses"])]
        lines.append([agent, *cells, *_compared(agent, each, figures[IMPACT], rows, is_read=True)])
    return markdown(("agent", "recall", "uses", "recall of uses", *_COMPARED), lines)


def _nameless_table(figures: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for agent, each in figures.items():
        cells = [number(each["tasks"], "{:.0f}"), number(each["places"], "{:.0f}"), percent(each["recall"])]
        cells += [number(each["shown"]), number(each["tokens"], "{:,.0f}"), number(each["median tokens"], "{:,.0f}")]
        lines.append([agent, *cells])
    return markdown(("agent", "tasks", "places", "recall", "places shown", "tokens a task", "median"), lines)


def _by(named: Sequence[TaskRow], nameless: Sequence[TaskRow], title: str, of: Callable[[TaskRow], str]) -> str:
    """Recall and the medians of tokens of parts of the tasks."""
    lines = []
    for part in dict.fromkeys(map(of, named)):
        found = {agent: _of([row for row in named if of(row) == part], agent) for agent in _agents(named)}
        beyond = {agent: _of([row for row in nameless if of(row) == part], agent) for agent in _agents(named)}
        cells = [
            str(len(found[IMPACT])),
            percent(_found(found[IMPACT])["recall"]),
            percent(_read(found[IMPACT])["recall"]),
        ]
        for agent in (IMPACT, GREP, GREP_WITH_CONTEXT):
            cells.append(number(_found(found[agent])["median tokens"], "{:,.0f}"))
        for agent in (IMPACT, GREP):
            cells.append(number(_read(found[agent])["median tokens"], "{:,.0f}"))
        for agent in (IMPACT, GREP, GREP_OF_FUNCTIONS):
            rows = beyond[agent]
            cells.append(f"{sum(row.n_nameless_found for row in rows)} of {sum(row.n_nameless for row in rows)}")
        lines.append([part, *cells])
    head = [
        title,
        "tasks",
        "recall",
        "recall, read",
        *(f"median, {agent}" for agent in (IMPACT, GREP, GREP_WITH_CONTEXT)),
    ]
    head += [f"with code, {agent}" for agent in (IMPACT, GREP)]
    head += [f"without the name, {agent}" for agent in (IMPACT, GREP, GREP_OF_FUNCTIONS)]
    return markdown(head, lines)
