"""Reader of git histories: the changes of each commit, file by file and hunk by hunk, oldest commit first.

Owns the reading of commits and the splitting of an edit into hunks. Knows no benchmark. Only benchmarks call git; the
server never does.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from ..errors import UserError

OWN_REPOSITORY = Path(__file__).resolve().parent.parent
"""Weft's own clone, whose history is the pinned input of the benchmarks."""


class NoHistory(UserError):
    """The edits are not available; the message says what to do."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """One text file before and after one commit; `before` is "" for a file that the commit added."""

    commit: str
    path: str
    before: str
    after: str

    @property
    def hunks(self) -> tuple[Hunk, ...]:
        return hunks_between(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `start_line` to `end_line` (0-based, half-open) of the text before become `text`.

    `removed` are those lines. Both have the line breaks they have in the file; one of them may be "".
    """

    start_line: int
    end_line: int
    removed: str
    text: str


def edits_of(repository: Path, commits: Sequence[str]) -> Iterator[FileEdit]:
    """The edits of text files that `commits` changed or added, in the order of `commits`.

    The files of one commit come in a plausible order of work: code, then its tests, then documents and data. Renamed
    files count as added. Merges are left out. Raises NoHistory.
    """
    shallow = _shallow_commits(repository)
    for commit in commits:
        name = _git(repository, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", missing=commit).strip()
        if name in shallow:
            raise NoHistory(
                f"The clone at {repository} has no history before commit {commit[:12]}. Run `git fetch --unshallow`."
            )
        changes = sorted(_changes(repository, name), key=lambda change: _when_edited(change[0]))
        texts = _texts(repository, [blob_id for change in changes for blob_id in change[1:] if blob_id])
        for path, before_id, after_id in changes:
            before, after = texts[before_id] if before_id else "", texts[after_id]
            if before is not None and after is not None and before != after:
                yield FileEdit(name, path, before, after)


def commits_between(repository: Path, revisions: str) -> list[str]:
    """The commits of a range in git's syntax ("v1..v2", or one name for all its ancestors), oldest first."""
    if revisions.startswith("-"):
        raise NoHistory(f"`{revisions}` names no commits. Give a range as `git log` takes it: FROM..TO.")
    return _git(repository, "rev-list", "--reverse", "--no-merges", revisions, "--", missing=revisions).split()


def files_at(
    repository: Path, commit: str, is_wanted: Callable[[str], bool] = lambda path: True
) -> Iterator[tuple[str, str]]:
    """The wanted text files of the repository at a commit: path and text. Raises NoHistory."""
    listing = _git(repository, "ls-tree", "-r", "-z", "--full-tree", commit, missing=commit)
    entries = [re.split(r"[ \t]", entry, maxsplit=3) for entry in filter(None, listing.split("\0"))]
    found = {path: blob_id for mode, _, blob_id, path in entries if mode in _FILES and is_wanted(path)}
    texts = _texts(repository, list(found.values()))
    for path, blob_id in found.items():
        if (text := texts[blob_id]) is not None:
            yield path, text


def hunks_between(before: str, after: str) -> tuple[Hunk, ...]:
    """The line ranges in which two texts differ, from the top."""
    old, new = _lines(before), _lines(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Hunk(old_start, old_end, "".join(old[old_start:old_end]), "".join(new[new_start:new_end]))
        for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    )


_FILES = ("100644", "100755")  # neither links nor submodules


def _lines(text: str) -> list[str]:
    """Lines with their breaks as editors count them: \\n, \\r\\n or \\r only."""
    return re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", text)


def _when_edited(path: str) -> tuple[int, str]:
    name = path.rpartition("/")[2]
    is_test = re.search(r"(^|/)tests?/|(^|_)test(_|s?\.)|\.(test|spec)\.", path) is not None
    is_code = not name.lower().endswith((".md", ".rst", ".txt", ".json", ".jsonl", ".toml", ".yaml", ".yml", ".cfg"))
    return (2 if not is_code else 1 if is_test else 0), path


def _changes(repository: Path, commit: str) -> Iterator[tuple[str, str, str]]:
    """Path, and the names of the blob before ("" for a new file) and after, of each changed or added file."""
    raw = _git(repository, "diff-tree", "-r", "-z", "--root", "--no-commit-id", "--no-renames", "--no-abbrev", commit)
    fields = raw.split("\0")
    for about, path in zip(fields[0::2], fields[1::2], strict=False):
        old_mode, mode, before_id, after_id, status = about.removeprefix(":").split()
        if mode in _FILES and (status == "A" or (status == "M" and old_mode in _FILES)):
            yield path, "" if status == "A" else before_id, after_id


def _texts(repository: Path, blob_ids: Sequence[str]) -> dict[str, str | None]:
    """The texts of these blobs; None for a blob that is not UTF-8 text."""
    names = "".join(f"{blob_id}\n" for blob_id in blob_ids).encode("ascii")
    out = _run(repository, "cat-file", "--batch", given=names).stdout
    texts: dict[str, str | None] = {}
    start = 0
    for blob_id in blob_ids:
        end_of_head = out.index(b"\n", start)
        head = out[start:end_of_head].split()
        if head[1:] == [b"missing"]:
            raise NoHistory(f"The clone at {repository} lacks a file of its history. Clone it without --filter.")
        start = end_of_head + 1
        data = out[start : start + int(head[2])]
        start += len(data) + 1
        texts[blob_id] = None
        with suppress(UnicodeDecodeError):
            texts[blob_id] = None if b"\0" in data else data.decode("utf-8")
    return texts


def _shallow_commits(repository: Path) -> frozenset[str]:
    """Commits whose parents this clone lacks: git reports all their files as added."""
    path = repository / _git(repository, "rev-parse", "--git-path", "shallow").strip()
    return frozenset(path.read_text(encoding="ascii").split()) if path.is_file() else frozenset()


def _git(repository: Path, *arguments: str, missing: str = "") -> str:
    """The output of git. `missing` is the revision that the error names when git fails."""
    done = _run(repository, *arguments)
    if done.returncode:
        if missing and _run(repository, "rev-parse", "--git-dir").returncode == 0:
            raise NoHistory(
                f"{missing!r} is not in the clone at {repository}. Run `git fetch` there, with --unshallow when it is "
                "a shallow clone, or name another repository with --repository PATH."
            )
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise NoHistory(
            f"{repository} is not a git clone ({said[-1] if said else 'git failed'}). "
            "Run this in a clone of Weft, or name another one with --repository PATH."
        )
    return done.stdout.decode("utf-8", "surrogateescape")


def _run(repository: Path, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    # A partial clone would fetch its blobs: nothing here uses the network.
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(
            ["git", "-C", repository, *arguments], input=given, capture_output=True, env=environment, check=False
        )
    except FileNotFoundError:
        raise NoHistory("git is not installed. This benchmark reads real edits with it. Install git.") from None
