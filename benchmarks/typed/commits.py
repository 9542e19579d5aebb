"""Typed commits: pinned histories, and the choice of the commits that a person could have typed.

Owns the pinned commits, the split into repositories for fitting and for reporting, and the rules of choice. Knows no
editor and no completion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ...errors import UserError
from ..histories import OWN_REPOSITORY, FileEdit, commits_between, edits_of, hunks_between

LEAST_ADDED, MOST_ADDED, MOST_FILES = 8, 400, 8
"""Added lines and changed files of a commit. Smaller ones have nothing to complete; larger ones are made by tools, or
over days."""

FOR_FITTING, FOR_REPORTING = "fitting", "reporting"


@dataclass(frozen=True, slots=True)
class TypedHistory:
    """A repository on GitHub, the commit to begin at, going back, and the files whose edits are typed."""

    name: str
    last_commit: str
    extensions: tuple[str, ...]
    purpose: str  # FOR_FITTING or FOR_REPORTING

    @property
    def short_name(self) -> str:
        return self.name.rpartition("/")[2]

    @property
    def folder_name(self) -> str:
        return self.name.replace("/", "+")


_PY, _TS, _GO = (".py",), (".ts", ".tsx"), (".go",)

HISTORIES = (
    TypedHistory("encode/httpx", "ae1b9f66238f75ced3ced5e4485408435de10768", _PY, FOR_FITTING),
    TypedHistory("pallets/flask", "2ac89889f4cc330eabd50f295dcef02828522c69", _PY, FOR_FITTING),
    TypedHistory("Textualize/rich", "42899d8a0a96b121a514516f4be9db44ff7aeaf3", _PY, FOR_FITTING),
    TypedHistory("python-poetry/poetry", "f46702336862f30050d5c641d5ed6f7568ded793", _PY, FOR_FITTING),
    TypedHistory("honojs/hono", "28a9c128912de19f3fb28b00ae289c9b93f6f392", _TS, FOR_FITTING),
    TypedHistory("trpc/trpc", "340811ba5320637fbaf48fccf3dbfdd258bd34db", _TS, FOR_FITTING),
    TypedHistory("gin-gonic/gin", "dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9", _GO, FOR_FITTING),
    TypedHistory("cli/cli", "44ee17760709bedf1cad7e452e61751489b81a33", _GO, FOR_FITTING),
    TypedHistory("python-attrs/attrs", "c1dc5dcba16ed827aa6dcad896b41a3afedb4e32", _PY, FOR_REPORTING),
    TypedHistory("simonw/sqlite-utils", "56dd09702fdb9e899f577ffd51693c1f2176cb08", _PY, FOR_REPORTING),
    TypedHistory("scrapy/scrapy", "11079cb1c85b9e75a39a7269943c69d1a975d485", _PY, FOR_REPORTING),
    TypedHistory("weft", "1f92ea6805ca0b19dabbae890b43fd69997af1d6", _PY, FOR_REPORTING),
    TypedHistory("TanStack/query", "40321a0b1b3bdd0afa11f0e439642ab84cdf6afe", _TS, FOR_REPORTING),
    TypedHistory("excalidraw/excalidraw", "4872083c044491b6d5c96ae134a75464f96d6831", _TS, FOR_REPORTING),
    TypedHistory("caddyserver/caddy", "0cf03d32f7d99cf160d5375e8a40fbe3d910d515", _GO, FOR_REPORTING),
    TypedHistory("charmbracelet/bubbletea", "73b6d91ac1c3854dd4af046ab5f9e51d3b3b4290", _GO, FOR_REPORTING),
)
"""Half of them to fit thresholds and curves, half to report."""


@dataclass(frozen=True, slots=True)
class TypedCommit:
    """A commit and its edits of source files, in a plausible order of work."""

    commit: str
    edits: tuple[FileEdit, ...]


class NoClone(UserError):
    """The clone of a history is missing; the message says how to get it."""


def clone_of(history: TypedHistory, folder: Path | None) -> Path:
    """The clone of a history below `folder`: `owner+name/repo`, `owner/name` or `name`. Raises NoClone."""
    if history.name == "weft":
        return OWN_REPOSITORY
    names = (f"{history.folder_name}/repo", history.name, history.short_name)
    found = [path for path in (folder / name for name in names) if path.is_dir()] if folder is not None else []
    if not found:
        where = "a folder" if folder is None else str(folder)
        raise NoClone(
            f"There is no clone of {history.name}. Run `git clone https://github.com/{history.name}` in {where}, and "
            "name that folder with --clones DIR."
        )
    return found[0]


def typed_commits(repository: Path, history: TypedHistory, n_commits: int) -> Iterator[TypedCommit]:
    """The last commits of a history whose edits a person could have typed, newest first. Raises NoHistory."""
    n_found = 0
    _, *commits = commits_between(repository, history.last_commit)  # the first one has nothing before it
    for commit in reversed(commits):
        if n_found == n_commits:
            return
        edits = tuple(edit for edit in edits_of(repository, [commit]) if is_source(edit.path, history.extensions))
        if _is_typed_by_hand(edits):
            n_found += 1
            yield TypedCommit(commit, edits)


def is_source(path: str, extensions: tuple[str, ...]) -> bool:
    """Whether a file is source code that people edit."""
    name = PurePosixPath(path)
    return name.suffix in extensions and not _NOT_EDITED.intersection(name.parts[:-1])


_NOT_EDITED = frozenset({"vendor", "node_modules", "dist", "third_party"})


def _is_typed_by_hand(edits: tuple[FileEdit, ...]) -> bool:
    if not 1 <= len(edits) <= MOST_FILES:
        return False
    n_added = sum(hunk.text.count("\n") for edit in edits for hunk in hunks_between(edit.before, edit.after))
    return LEAST_ADDED <= n_added <= MOST_ADDED
