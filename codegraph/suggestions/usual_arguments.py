"""The arguments that other calls of a callee pass.

Owns the reading of calls in the lines above the cursor and of a few calls that the graph has. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ..callees import Callee, lines_of_source
from ..parameters import pieces_of
from .cursor_facts import CursorFacts
from .open_call import Argument, argument_of, is_declared

Call = tuple[Argument, ...]

MAX_CALLS_ABOVE = 12
MAX_OTHER_CALLS = 8
MAX_ABOVE = 60_000
"""Characters above the cursor that are searched."""
MAX_LENGTH = 400
"""Characters of the arguments of one call."""
MAX_NEAR_FILES = 40
MAX_NEAR_BYTES = 500_000
"""Of files that are searched for calls of a name."""
MAX_PER_FILE = 3
MAX_CALLING_FILES = 60
"""Files with calls of a definition that are read."""


def calls_above(facts: CursorFacts, name: str, opening: str, sign: str) -> list[Call]:
    """The arguments of finished calls of a name in the lines above, nearest first."""
    found: list[Call] = []
    text = facts.above[-MAX_ABOVE:]
    spaces = r"\s?" if opening == "{" else ""
    starts = [match.end() for match in re.finditer(rf"(?<![\w$]){re.escape(name)}{spaces}{re.escape(opening)}", text)]
    headers = {each.header_line for each in facts.symbols.definitions if each.name == name}
    for start in reversed(starts[-MAX_CALLS_ABOVE:]):
        line = text[text.rfind("\n", 0, start) + 1 : start]
        number = facts.line - text.count("\n", start)
        is_header = number in headers or _HEADER.search(line) is not None or is_declared(line[: -len(name) - 1])
        call = None if is_header else _arguments_at(text, start, sign)
        if call is not None:
            found.append(call)
    return found


def other_calls(facts: CursorFacts, callee: Callee, name: str, sign: str) -> list[Call]:
    """The arguments of a few calls of a definition in other files, those of the own folder first."""
    found: list[Call] = []
    folder = facts.path.rpartition("/")[0]
    graph, target = facts.base, (callee.path, callee.definition.qualified_name)
    paths = [path for path in graph.calling_files(*target) if path != facts.path and path in facts.texts]
    paths.sort(key=lambda path: path.rpartition("/")[0] != folder)
    pattern = re.compile(rf"(?<![\w$]){re.escape(name)}\(")
    for path in paths[:MAX_CALLING_FILES]:
        edges = (edge for edge in graph.call_edges(path) if (edge.path, edge.qualified_name) == target)
        for edge in islice(edges, MAX_PER_FILE):
            line = graph.files[path].calls[edge.call].line
            lines = lines_of_source(facts.texts[path])[line : line + 8]
            text = b"\n".join(lines).decode("utf-8", "replace")
            start = pattern.search(text)
            call = _arguments_at(text, start.end(), sign) if start is not None else None
            if call is not None:
                found.append(call)
                if len(found) == MAX_OTHER_CALLS:
                    return found
    return found


def calls_nearby(facts: CursorFacts, name: str, sign: str) -> list[Call]:
    """The arguments of a few calls of a name in other files, those of the own folder first."""
    found: list[Call] = []
    for before, behind in occurrences_nearby(facts, f"{name}(", MAX_PER_FILE):
        if _HEADER.search(before) or is_declared(before):
            continue
        call = _arguments_at(behind, 0, sign)
        if call is not None:
            found.append(call)
            if len(found) == MAX_OTHER_CALLS:
                break
    return found


def occurrences_nearby(facts: CursorFacts, text: str, n_per_file: int) -> Iterator[tuple[str, str]]:
    """Where a word and what is behind it occur in files nearby: the line before it, and the text behind."""
    needle, n_bytes = text.encode("utf-8", "replace"), 0
    for path in _files_nearby(facts):
        source = facts.texts[path]
        n_bytes += len(source)
        if n_bytes > MAX_NEAR_BYTES:
            return
        at = source.find(needle)
        for _ in range(n_per_file):
            if at < 0:
                break
            start = at + len(needle)
            before = source[source.rfind(b"\n", 0, at) + 1 : at].decode("utf-8", "replace")
            if not (before[-1:].isalnum() or before[-1:] in ("_", "$")):
                yield before, source[start : start + MAX_LENGTH + 4].decode("utf-8", "replace")
            at = source.find(needle, start)


def _files_nearby(facts: CursorFacts) -> list[str]:
    """Files of the cursor's language in its folder, then those below the folder above."""

    def find() -> list[str]:
        folder, _, name = facts.path.rpartition("/")
        above, ending = folder.rpartition("/")[0], name[name.rfind(".") :]
        near = [path for path in facts.texts if path.startswith(above) and path.endswith(ending) and path != facts.path]
        near.sort(key=lambda path: path.rpartition("/")[0] != folder)
        return near[:MAX_NEAR_FILES]

    return facts.remembered("files nearby", find=find)


def _arguments_at(text: str, start: int, sign: str) -> Call | None:
    """The arguments of a call whose bracket ends at `start`; None for one that is not finished.

    Those of a call whose line ends in a block or a list go to the end of that line: `test("pays", () => {`.
    """
    depth = 0
    for match in _SIGNS.finditer(text, start, start + MAX_LENGTH):
        bracket = match[0]
        if bracket[0] in "\"'`":
            continue
        if bracket in "([{":
            if bracket != "(" and _LINE_ENDS(text, match.end()):
                pieces = [argument_of(piece, sign) for piece in pieces_of(text[start : match.end()])]
                return (*pieces[:-1], pieces[-1]._replace(text=f"{pieces[-1].text}\n"))
            depth += 1
        elif depth:
            depth -= 1
        else:
            inside = text[start : match.start()]
            return tuple(argument_of(piece, sign) for piece in pieces_of(inside)) if inside.strip() else ()
    return None


_SIGNS = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`[^`]*`|[()\[\]{}]")
_LINE_ENDS = re.compile(r"[ \t]*\n").match
_HEADER = re.compile(r"(?:^|\s)(?:def|func|fun|fn|function|class|struct|record|type|impl)\b[^=]*\Z")
