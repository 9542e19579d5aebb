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


_PY, _TS, _GO, _JAVA, _KOTLIN, _CSHARP = (".py",), (".ts", ".tsx"), (".go",), (".java",), (".kt",), (".cs",)
_RUST, _CPP, _C, _RUBY, _JS = (".rs",), (".h", ".cc", ".cpp"), (".h", ".c"), (".rb",), (".js",)

HISTORIES = (
    TypedHistory("encode/httpx", "ae1b9f66238f75ced3ced5e4485408435de10768", _PY, FOR_FITTING),
    TypedHistory("pallets/flask", "2ac89889f4cc330eabd50f295dcef02828522c69", _PY, FOR_FITTING),
    TypedHistory("Textualize/rich", "42899d8a0a96b121a514516f4be9db44ff7aeaf3", _PY, FOR_FITTING),
    TypedHistory("python-poetry/poetry", "f46702336862f30050d5c641d5ed6f7568ded793", _PY, FOR_FITTING),
    TypedHistory("honojs/hono", "28a9c128912de19f3fb28b00ae289c9b93f6f392", _TS, FOR_FITTING),
    TypedHistory("trpc/trpc", "340811ba5320637fbaf48fccf3dbfdd258bd34db", _TS, FOR_FITTING),
    TypedHistory("gin-gonic/gin", "dcaa4296d111981ffb31ac3eba90bb63e1eb5ab9", _GO, FOR_FITTING),
    TypedHistory("cli/cli", "44ee17760709bedf1cad7e452e61751489b81a33", _GO, FOR_FITTING),
    TypedHistory("vitejs/vite", "a98c8d95d552c6fa98ab66fb810f5b39ad5abf49", _TS, FOR_FITTING),
    TypedHistory("gitleaks/gitleaks", "b58d3f102cf3a2c84cb7f923d05c25c9b1aed84b", _GO, FOR_FITTING),
    TypedHistory("apache/commons-lang", "d15939ef46f0bd4144994df8be95cf5a7f91eb52", _JAVA, FOR_FITTING),
    TypedHistory("InsertKoinIO/koin", "fff5291f333c04fe5d6d9447f72740647d40d186", _KOTLIN, FOR_FITTING),
    TypedHistory("AutoMapper/AutoMapper", "4b9633f60ee386cf0efc69b967e04fa28405cf3e", _CSHARP, FOR_FITTING),
    TypedHistory("serilog/serilog", "60935b4d7abad71cf6157b45a10f5c3c65ead527", _CSHARP, FOR_FITTING),
    TypedHistory("BurntSushi/ripgrep", "3fce3b5bb0236da2df6d99672afb8a719642eca7", _RUST, FOR_FITTING),
    TypedHistory("tokio-rs/axum", "3d78036dcac289d6c1d54934708acb6a5bd73686", _RUST, FOR_FITTING),
    TypedHistory("fmtlib/fmt", "60ccad511fd680cb91d8b60a315759f71c67bef9", _CPP, FOR_FITTING),
    TypedHistory("jqlang/jq", "579e6f76cffd7643ba4002a2c3618a5ea710589a", _C, FOR_FITTING),
    TypedHistory("heartcombo/devise", "7ca7ed9c174525a4d36167441b35af4a0991b6af", _RUBY, FOR_FITTING),
    TypedHistory("sinatra/sinatra", "cb22afd7902b566b6eaba6c4ea89739494a65d12", _RUBY, FOR_FITTING),
    TypedHistory("python-attrs/attrs", "c1dc5dcba16ed827aa6dcad896b41a3afedb4e32", _PY, FOR_REPORTING),
    TypedHistory("simonw/sqlite-utils", "56dd09702fdb9e899f577ffd51693c1f2176cb08", _PY, FOR_REPORTING),
    TypedHistory("scrapy/scrapy", "11079cb1c85b9e75a39a7269943c69d1a975d485", _PY, FOR_REPORTING),
    TypedHistory("weft", "1f92ea6805ca0b19dabbae890b43fd69997af1d6", _PY, FOR_REPORTING),
    TypedHistory("TanStack/query", "40321a0b1b3bdd0afa11f0e439642ab84cdf6afe", _TS, FOR_REPORTING),
    TypedHistory("excalidraw/excalidraw", "4872083c044491b6d5c96ae134a75464f96d6831", _TS, FOR_REPORTING),
    TypedHistory("caddyserver/caddy", "0cf03d32f7d99cf160d5375e8a40fbe3d910d515", _GO, FOR_REPORTING),
    TypedHistory("charmbracelet/bubbletea", "73b6d91ac1c3854dd4af046ab5f9e51d3b3b4290", _GO, FOR_REPORTING),
    TypedHistory("Yelp/detect-secrets", "5e141933554a0b74e7341841f318be21e895339c", _PY, FOR_REPORTING),
    TypedHistory("expressjs/express", "a3714473feb3d2908add734d340e7755fd85e0a3", _JS, FOR_REPORTING),
    TypedHistory("jhy/jsoup", "46b620860af930eedc193a705eaf7cea5aec89a6", _JAVA, FOR_REPORTING),
    TypedHistory("square/okio", "4164f2976ac7174f3d35d52150e8ffbdbe0acbec", _KOTLIN, FOR_REPORTING),
    TypedHistory("App-vNext/Polly", "173d6d1d2e28a4697f1ac1d22da68f77ff19a0c9", _CSHARP, FOR_REPORTING),
    TypedHistory(
        "FluentValidation/FluentValidation", "ea299fe59719950018fa240dab86da414190d7f4", _CSHARP, FOR_REPORTING
    ),
    TypedHistory("casey/just", "4f41f609278edb6f1024e3dd7a9912946e1e7bc3", _RUST, FOR_REPORTING),
    TypedHistory("sharkdp/bat", "2ba8db9c14e5794572f5ea338c2b90404c9769cb", _RUST, FOR_REPORTING),
    TypedHistory("gabime/spdlog", "62302019babd8fdf63c1c6dc4c9faa48d441a7f0", _CPP, FOR_REPORTING),
    TypedHistory("libuv/libuv", "6179e7af87413396d5853a1c3722c8b5749336c8", _C, FOR_REPORTING),
    TypedHistory("jekyll/jekyll", "202df571314ba1d18e9fccd81d12aaad4a703c38", _RUBY, FOR_REPORTING),
    TypedHistory("Shopify/liquid", "7a5e45fc4784e6e2e3092f2eb6f613644f1e2e5a", _RUBY, FOR_REPORTING),
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
