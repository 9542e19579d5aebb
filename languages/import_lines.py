"""Import lines at a cursor: the module that is named, the names on the line, and what is typed of the next one.

Owns the form of the patterns and the reading of a match; each record has the patterns of its language
(`Language.import_lines`). Knows no file: `codegraph.imports_at` finds the module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

MAX_STATEMENT = 4000
"""Characters of one import statement before and after the cursor."""


@dataclass(frozen=True, slots=True)
class ImportPattern:
    """One form of an import statement with the cursor in it.

    `before` matches the text that ends at the cursor. Its groups: `typed`, the typed part of a name or a path; `names`,
    the names before it; `module`, without which the cursor is in the path of a module. `after` must match the text
    after the cursor, if given, with the groups `names` and `module`. `line`: the part for this module alone, where one
    statement has several.
    """

    before: re.Pattern[str]
    after: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class ImportLine:
    """The import statement at a cursor. `is_path`: the cursor is in the path of a module, of which `typed` is typed."""

    module: str  # as written, "" for a path
    typed: str
    names: frozenset[str] = frozenset()  # that the statement names already, with those of a path's aliases
    is_path: bool = False
    start: int = 0  # offset of the statement in the text before the cursor
    length_after: int = 0  # characters of the statement after the cursor


def import_line_at(patterns: Sequence[ImportPattern], before: str, after: str) -> ImportLine | None:
    """The import statement at the cursor between two texts; None elsewhere."""
    offset = max(0, len(before) - MAX_STATEMENT)
    before, after = before[offset:], after[:MAX_STATEMENT]
    for pattern in patterns:
        found = pattern.before.search(before)
        if found is None:
            continue
        rest = pattern.after.match(after) if pattern.after is not None else None
        if pattern.after is not None and rest is None:
            continue
        groups, below = found.groupdict(), rest.groupdict() if rest is not None else {}
        start, length_after = offset + found.start(), rest.end() if rest is not None else 0
        above = _COMMENT.sub("", groups.get("names") or "").strip()
        if "module" not in groups and "module" not in below:
            words = frozenset(_WORD.findall(above)) - {"as", "type", "_"}
            if "line" in groups:
                start = offset + found.start("line")
            return ImportLine("", found["typed"], words, True, start, len(after.partition("\n")[0]))
        above = re.sub(r"\btype$", "", above).rstrip()
        if not above or above.endswith(","):
            names = frozenset(_names(above) | _names(below.get("names") or ""))
            return ImportLine(
                groups.get("module") or below["module"], found["typed"], names, False, start, length_after
            )
    return None


def _names(text: str) -> set[str]:
    """The imported names of a list, without their aliases."""
    items = (_ALIAS.split(item.strip())[0] for item in _COMMENT.sub("", text).split(","))
    return {item.removeprefix("type ").strip() for item in items} - {""}


_COMMENT = re.compile(r"(?:#|//)[^\n]*|/\*.*?\*/|\\\n", re.DOTALL)
_WORD = re.compile(r"[\w$]+")
_ALIAS = re.compile(r"\s+as\s+|\s*(?::|=>)\s*")

_FROM = r"^[ \t]*from[ \t]+(?P<module>\.*[A-Za-z_][\w.]*|\.+)[ \t]+import"

PYTHON_IMPORTS = (
    ImportPattern(
        re.compile(_FROM + r"[ \t]*\((?P<names>[^()]*?)(?P<typed>\w*)\Z", re.MULTILINE),
        re.compile(r"(?P<names>[^()=]*(?=\)))?"),
    ),
    ImportPattern(
        re.compile(_FROM + r"[ \t]+(?P<names>(?:[^()\n;#\\]|\\\n)*?)(?P<typed>\w*)\Z", re.MULTILINE),
        re.compile(r"(?P<names>[^()\n;#]*)"),
    ),
    ImportPattern(re.compile(r"^[ \t]*from[ \t]+(?P<typed>\.+\w*|\.*\w+\.[\w.]*)\Z", re.MULTILINE)),
    ImportPattern(re.compile(r"^[ \t]*import[ \t]+(?:[\w.]+[ \t]*,[ \t]*)*(?P<typed>\w+\.[\w.]*)\Z", re.MULTILINE)),
)

_WEB_NAMES = r"\{(?P<names>[^{}]*?)(?P<typed>[\w$]*)\Z"

WEB_IMPORTS = (
    ImportPattern(
        re.compile(r"^[ \t]*(?:import|export)\b(?:[ \t]+type)?(?:[ \t]+[\w$]+[ \t]*,)?\s*" + _WEB_NAMES, re.MULTILINE),
        re.compile(r"(?P<names>[^{}]*)\}\s*from\s*[\"'](?P<module>[^\"'\n]+)[\"']"),
    ),
    ImportPattern(
        re.compile(r"^[ \t]*(?:export[ \t]+)?(?:const|let|var)\s*" + _WEB_NAMES, re.MULTILINE),
        re.compile(r"(?P<names>[^{}]*)\}\s*=\s*(?:require|await\s+import)\(\s*[\"'](?P<module>[^\"'\n]+)[\"']"),
    ),
    ImportPattern(
        re.compile(
            r"(?:^[ \t]*(?:import|export)\b(?P<names>[^\"';()]*?)\bfrom|\bimport|\brequire\(|\bimport\()"
            r"\s*[\"'](?P<typed>[^\"'\n]*)\Z",
            re.MULTILINE,
        )
    ),
)

_GO_PATH = r"[ \t]*(?:(?P<names>\w+|\.)[ \t]+)?\"(?P<typed>[^\"\n]*)"

GO_IMPORTS = (
    ImportPattern(re.compile(r"^[ \t]*import" + _GO_PATH + r"\Z", re.MULTILINE)),
    ImportPattern(re.compile(r"^import[ \t]*\([^()]*?^(?P<line>" + _GO_PATH + r")\Z", re.MULTILINE)),
)

PHP_IMPORTS = (
    ImportPattern(
        re.compile(r"^use[ \t]+(?:function[ \t]+)?(?P<typed>\w[\w\\]*|)\Z", re.MULTILINE),
        re.compile(r"[\w\\]*;?[ \t]*(?=\r?\n|\Z)"),
    ),
)

CSHARP_IMPORTS = (
    ImportPattern(
        re.compile(r"^(?: {0,4}|\t)(?:global[ \t]+)?using[ \t]+(?P<typed>[\w.]*)\Z", re.MULTILINE),
        re.compile(r"[\w.]*;?[ \t]*(?=\r?\n|\Z)"),
    ),
)
"""A `using` of a namespace."""

C_INCLUDES = (
    ImportPattern(re.compile(r"^[ \t]*#[ \t]*(?:include|import)[ \t]*[\"<](?P<typed>[^\">\n]*)\Z", re.MULTILINE)),
)

_RUST_PATH = r"^[ \t]*(?:pub(?:\([\w: ]+\))?[ \t]+)?use[ \t]+(?P<module>\w+(?:::\w+)*)::"

RUST_IMPORTS = (
    ImportPattern(
        re.compile(_RUST_PATH + r"\{(?P<names>[^{};]*?)(?P<typed>\w*)\Z", re.MULTILINE),
        re.compile(r"(?P<names>[^{};]*(?=\}))?"),
    ),
    ImportPattern(re.compile(_RUST_PATH + r"(?P<typed>\w*)\Z", re.MULTILINE), re.compile(r"[^\n;]*;?")),
)

LUA_IMPORTS = (ImportPattern(re.compile(r"\brequire[ \t]*\(?[ \t]*[\"'](?P<typed>[\w./-]*)\Z")),)
JAVA_IMPORTS = (
    ImportPattern(
        re.compile(r"^[ \t]*import[ \t]+(?:static[ \t]+)?(?P<typed>[\w.]*)\Z", re.MULTILINE),
        re.compile(r"[\w.]*;?[ \t]*(?=\r?\n|\Z)"),
    ),
)
SCALA_IMPORTS = (
    ImportPattern(
        re.compile(r"^[ \t]*import[ \t]+(?P<module>\w[\w.]*)\.\{(?P<names>[^{}\n]*?)(?P<typed>\w*)\Z", re.MULTILINE),
        re.compile(r"(?P<names>[^{}\n]*(?=\}))?"),
    ),
    ImportPattern(re.compile(r"^[ \t]*import[ \t]+(?:[\w.]+[ \t]*,[ \t]*)*(?P<typed>[\w.]*)\Z", re.MULTILINE)),
)
"""Imports of definitions by their global names."""
