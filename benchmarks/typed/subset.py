"""Golden rows of one typed commit: the texts shown, committed so that a change of them shows as a diff in the test run.

Owns the choice of the commit, which is one of Weft's own history, and the form of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from ...server.config import Config
from ...server.workspace.workspace import Workspace
from ..histories import OWN_REPOSITORY, edits_of
from .commits import TypedCommit
from .figures import figures_of
from .replay import KeyRow, Mode, Tree, Typing

COMMIT = "d8a8cc676f"
FILES = re.compile(r"llm/(?:http/)?\w+\.py|tests/test_llm_(?:http|llama|ollama|open)\w*\.py")
"""A part of the tree that is small enough to be analysed in one process, file by file. Worker processes finish in any
order, and the order of the index decides between texts that are equally likely."""
N_KEYS = 90
MODE: Mode = "whole"
ROWS = "rows.txt"


def subset_rows() -> list[str]:
    """The lines that `ROWS` should hold, with the code as it is. Raises NoHistory."""
    edits = tuple(edit for edit in edits_of(OWN_REPOSITORY, [COMMIT]) if edit.path.endswith(".py"))
    with TemporaryDirectory() as work:
        folder = Path(work).resolve() / "weft"
        Tree(folder, OWN_REPOSITORY, lambda path: FILES.fullmatch(path) is not None).go_to(f"{COMMIT}^")
        with closing(Workspace([folder], Config(), cache=False)) as workspace:
            workspace.index()
            typing = Typing(workspace, folder, "weft", MODE, N_KEYS)
            return as_lines(list(typing.type_commit(TypedCommit(edits[0].commit, edits))))


def as_lines(rows: Sequence[KeyRow]) -> list[str]:
    """Some figures, then each key at which a text was shown: whether it is right, the line before the cursor, the
    text.
    """
    figures = figures_of(rows)
    head = (
        f"keys {figures['n_keys']}, characters {figures['n_characters']}, distinct texts {figures['distinct']}, "
        f"of these right {figures['distinct_right']:.0%}"
    )
    lines, path = [head], ""
    for row in rows:
        if row.path != path:
            path = row.path
            lines.append(f"#- {path}")
        if row.text:
            before = row.becomes[: len(row.becomes) - len(row.text)]
            lines.append(f"{row.number} {'right' if row.is_right else 'wrong'} {before!r} {row.text!r}")
    return lines


def write_subset(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ROWS).write_text("\n".join([*subset_rows(), ""]), encoding="utf-8", newline="")
