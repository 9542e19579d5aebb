"""EditorConfig resolver: the `.editorconfig` properties of a file in a workspace folder.

Owns the file format (https://spec.editorconfig.org) and a cache that reports of changes invalidate, so that requests do
not access the disk. Reads nothing above the workspace folder, follows no link, and ignores invalid parts. Knows no
property's meaning.

The PyPI package `editorconfig` is not used: it searches up to the root of the disk, reads all files again for each
query, and raises on an invalid one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ...llm.disk import open_regular

NAME = ".editorconfig"
MAX_BYTES = 100_000
MAX_CACHED = 1000


class EditorConfigs:
    """The `.editorconfig` files of one workspace folder. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # Replaced whole when a file changes; threads that read the same file concurrently get equal results.
        self._files: dict[str, _File | None] = {}
        self._properties: dict[str, Mapping[str, str]] = {}

    def properties(self, path: str) -> Mapping[str, str]:
        """The properties of the file at `path` (relative, forward slashes): names and values in lower case.

        Nearer files override those further up, and later sections override earlier ones. Never raises.
        """
        cache = self._properties
        known = cache.get(path)
        if known is None:
            known = self._read(path)
            if len(cache) >= MAX_CACHED:
                cache.clear()
            cache[path] = known
        return known

    def changed(self, path: str) -> None:
        """Invalidate the cache if a created, changed or removed file is an `.editorconfig`."""
        if path.rpartition("/")[2] == NAME:
            self._files, self._properties = {}, {}

    def _read(self, path: str) -> Mapping[str, str]:
        files = self._files
        found: list[tuple[str, _File]] = []
        for folder in _folders_above(path):
            if folder not in files:
                files[folder] = _read_file(self._folder / folder / NAME, self._folder)
            file = files[folder]
            if file is not None:
                found.append((path[len(folder) + 1 :] if folder else path, file))
                if file.is_root:
                    break
        merged: dict[str, str] = {}
        for name, file in reversed(found):
            for section in file.sections:
                if section.matches(name):
                    merged.update(section.values)
        return {name: value for name, value in merged.items() if value != "unset"}


class _Section(NamedTuple):
    pattern: re.Pattern[str]
    ranges: tuple[tuple[int, int], ...]  # bounds of the pattern's named number groups
    values: dict[str, str]

    def matches(self, name: str) -> bool:
        found = self.pattern.fullmatch(name)
        if found is None:
            return False
        numbers = (found[f"number{n}"] for n in range(len(self.ranges)))
        return all(
            number is None or low <= int(number) <= high
            for number, (low, high) in zip(numbers, self.ranges, strict=True)
        )


class _File(NamedTuple):
    is_root: bool
    sections: tuple[_Section, ...]


_HEADER = re.compile(r"\[(.+)\]")
_PAIR = re.compile(r"([^=:\s][^=:]*?)\s*[=:]\s*(.*)")
_RANGE = re.compile(r"\{([+-]?\d{1,9})\.\.([+-]?\d{1,9})\}")
_MEMBERS = re.compile(r"\[(!?)([^]/]+)\]")
_MAX_GLOB_LENGTH = 1000


def _folders_above(path: str) -> Iterator[str]:
    """The folder of a file and those above it, the nearest first; "" is the workspace folder."""
    folder = PurePosixPath(path).parent
    while True:
        yield "" if folder == PurePosixPath(".") else folder.as_posix()
        if folder == folder.parent or ".." in folder.parts or folder.is_absolute():
            return
        folder = folder.parent


def _read_file(path: Path, root: Path) -> _File | None:
    try:
        if path.is_symlink() or not path.is_file() or root.resolve() not in path.resolve().parents:
            return None
        with open_regular(path) as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError, RuntimeError):
        return None
    return parse(data.decode("utf-8-sig", "replace")) if len(data) <= MAX_BYTES and b"\0" not in data else None


def parse(text: str) -> _File:
    """The sections of an `.editorconfig`; invalid lines are skipped."""
    sections: list[_Section] = []
    preamble: dict[str, str] = {}
    values = preamble
    for line in map(str.strip, text.splitlines()):
        if not line or line[0] in "#;":
            continue
        if header := _HEADER.fullmatch(line):
            values = {}
            compiled = _compiled(header[1])
            if compiled is not None:
                sections.append(_Section(*compiled, values))
        elif pair := _PAIR.fullmatch(line):
            values[pair[1].lower()] = pair[2].strip().lower()
    return _File(preamble.get("root") == "true", tuple(sections))


@lru_cache(maxsize=256)
def _compiled(glob: str) -> tuple[re.Pattern[str], tuple[tuple[int, int], ...]] | None:
    """A section's glob as a regular expression for paths relative to its file; None if it is invalid or too long."""
    if len(glob) > _MAX_GLOB_LENGTH:
        return None
    # A glob without a slash matches names at any depth.
    start = "" if "/" in glob else "(?:.*/)?"
    ranges: list[tuple[int, int]] = []
    try:
        return re.compile(start + _translated(glob.removeprefix("/"), ranges), re.DOTALL), tuple(ranges)
    except (re.error, RecursionError, OverflowError):
        return None


def _translated(glob: str, ranges: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    depth, at = 0, 0
    while at < len(glob):
        sign = glob[at]
        if sign == "\\" and at + 1 < len(glob):
            parts.append(re.escape(glob[at + 1]))
            at += 2
            continue
        if sign == "*":
            n_stars = 2 if glob.startswith("**", at) else 1
            parts.append(".*" if n_stars == 2 else "[^/]*")
            at += n_stars
            continue
        if sign == "[" and (members := _MEMBERS.match(glob, at)):
            escaped = re.sub(r"([^\w-])", r"\\\1", members[2])
            parts.append(f"[{'^' if members[1] else ''}{escaped}]")
            at = members.end()
            continue
        if number := _RANGE.match(glob, at):
            low, high = sorted((int(number[1]), int(number[2])))
            parts.append(rf"(?P<number{len(ranges)}>[+-]?\d{{1,9}})")
            ranges.append((low, high))
            at = number.end()
            continue
        if sign == "{" and _is_choice(glob, at):
            parts.append("(?:")
            depth += 1
        elif sign == "}" and depth:
            parts.append(")")
            depth -= 1
        elif sign == "," and depth:
            parts.append("|")
        else:
            parts.append("[^/]" if sign == "?" else re.escape(sign))
        at += 1
    return "".join(parts) + ")" * depth


def _is_choice(glob: str, start: int) -> bool:
    """Whether the brace at `start` is closed and contains a comma; `{name}` is literal."""
    depth, has_comma = 0, False
    for sign in glob[start:]:
        depth += (sign == "{") - (sign == "}")
        has_comma = has_comma or (sign == "," and depth == 1)
        if not depth:
            return has_comma
    return False
