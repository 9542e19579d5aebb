"""Golden rows of a few tasks: their answers are committed, so that a change in quality shows as a diff in the test run.

Owns the form of those rows. The tasks are drawn from old versions of some of Weft's modules, stored as one text with a
line `#- path` before each file; the workspace model answers them, so no other model is needed.
"""

from __future__ import annotations

from pathlib import Path

from ..repoeval.sources import SourceFile, parse_source
from ..repoeval.tasks import build_tasks
from .answering import CompletionRow, Repository, answer
from .argument_tasks import argument_tasks
from .mid_line import mid_line_tasks
from .report import KINDS
from .settings import SETTINGS

N_LINE, N_API = 40, 16
ASKED = ("none", "bm25", "weft")
TREE, ROWS = "tree.txt", "rows.txt"


def subset_rows(folder: Path) -> list[str]:
    """The lines that `ROWS` in `folder` should hold for its `TREE`, with the code as it is."""
    sources = _sources((folder / TREE).read_text(encoding="utf-8"))
    drawn = build_tasks(sources, "weft", N_LINE, N_API)
    tasks = [*drawn, *mid_line_tasks(drawn), *argument_tasks(drawn)]
    repository = Repository.of("weft", sources)
    rows = [answer(repository, task, SETTINGS[name], None) for task in tasks for name in ASKED]
    heads = [f"{kind}: {_totals([row for row in rows if row.kind == kind])}" for kind in KINDS]
    # One line for all settings that a task has the same answer in.
    answered: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        answered.setdefault((row.task_id, _row_text(row)), []).append(row.setting)
    return [*heads, *(f"{task_id} {' '.join(names)}: {shown}" for (task_id, shown), names in answered.items())]


def write_subset(folder: Path) -> None:
    (folder / ROWS).write_text("\n".join([*subset_rows(folder), ""]), encoding="utf-8", newline="")


def _row_text(row: CompletionRow) -> str:
    # Rounded, since the last digits may differ between platforms.
    sure = "-" if row.confidence is None else f"{row.confidence:.2f}"
    shown = "all" if row.shown_whole else repr(row.shown) if row.shown else "-"
    return f"EM {row.exact_match:.0f} ES {row.edit_similarity:.2f} sure {sure} {row.text!r} shown {shown}"


def _totals(rows: list[CompletionRow]) -> str:
    parts = []
    for setting in ASKED:
        of = [row for row in rows if row.setting == setting]
        right, similar = (sum(values) for values in zip(*((r.exact_match, r.edit_similarity) for r in of), strict=True))
        n_shown, n_right = sum(bool(r.shown) for r in of), sum(r.shown_right or 0.0 for r in of)
        parts.append(f"{setting} EM {right:.0f}/{len(of)} ES {similar / len(of):.2f} shown {n_right:.0f}/{n_shown}")
    return ", ".join(parts)


def _sources(text: str) -> dict[str, SourceFile]:
    files = (part.partition("\n") for part in text.split("#- ")[1:])
    return {path: parse_source(path, content, "") for path, _, content in files}
