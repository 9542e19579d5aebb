"""Next edits after alike edits: the same change under other names, where it fits elsewhere.

Owns how two edits are generalised, on the smallest syntax nodes that they change, and where the result matches. Tokens
that differ between the edits are variables, the others are fixed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from ..symbols.occurrences import files_with
from ..workspace.text import TextChange
from .before import text_before, text_of
from .edited_files import changed_lines
from .nearness import by_nearness
from .parsed import Parsed
from .values import EditedFile, NextEdit, Situation

if TYPE_CHECKING:
    from tree_sitter import Node

SAME_FILE, OTHER_FILE = 0.6, 0.4
"""Confidence of an edit by its place. Set by hand, see `weft bench next-edit`."""

AFTER_ONE = 0.6
"""Confidence of an edit in the same file after a single one: then the very same tokens are changed."""

MIN_TOKENS_AFTER_ONE = 3

MAX_PLACES_AFTER_ONE = 5
"""With more places a single edit does not tell that all are meant."""

MAX_TOKENS = 60
"""Longer pieces are not generalised."""

MIN_TOKENS = 2
"""A single token is for `substituted`, which knows its role."""

MAX_LEVELS = 4
"""So many nodes around a change are tried."""

MAX_EDITS = 12
"""So many recent edits are compared with each other."""

MAX_FILES = 20
"""The most other files that are searched, nearest first."""

MAX_PLACES = 50


@dataclass(frozen=True, slots=True)
class Piece:
    """A syntax node before an edit, and what it became: the tokens of both."""

    path: str
    kind: str
    before: tuple[str, ...]
    after: str  # as written
    line: int  # now
    at: float

    @property
    def after_tokens(self) -> list[str]:
        return _SPLIT.findall(self.after)


@dataclass(frozen=True)
class Template:
    """A change with variables: numbers in `before` and `after` are variables, texts are fixed."""

    kind: str
    before: tuple[str | int, ...]
    after: tuple[str | int, ...]
    fixed_names: frozenset[str]
    lines: tuple[int, ...]  # of the edits, now

    def applied(self, tokens: Sequence[str]) -> str | None:
        """The new text of a node with these tokens; None if it does not match."""
        if len(tokens) != len(self.before):
            return None
        bound: dict[int, str] = {}
        for wanted, token in zip(self.before, tokens, strict=True):
            if isinstance(wanted, str):
                if wanted != token:
                    return None
            elif bound.setdefault(wanted, token) != token or not _is_value(token):
                return None
        return "".join(each if isinstance(each, str) else bound[each] for each in self.after)


def repeated_edits(situation: Situation) -> Iterator[NextEdit]:
    """The edits that repeat two alike ones elsewhere."""
    for file in situation.edited[:2]:
        pieces = sorted(_pieces(situation, file), key=lambda piece: -piece.at)[: MAX_EDITS * MAX_LEVELS]
        done: set[tuple[object, ...]] = set()
        for one, other in combinations(pieces, 2):
            template = generalised(one, other)
            if template is None or (template.before, template.after) in done:
                continue
            done.add((template.before, template.after))
            yield from _places(situation, file, template)
        for line in {piece.line: piece for piece in reversed(pieces) if _is_telling(piece)}.values():
            template = Template(line.kind, line.before, tuple(line.after_tokens), _names(line.before), (line.line,))
            if template.fixed_names and (template.before, template.after) not in done:
                done.add((template.before, template.after))
                yield from _places(situation, file, template)


def _is_telling(piece: Piece) -> bool:
    """Whether a piece is long enough to mean the same wherever it stands, and not only a literal of it changed."""
    if len(piece.before) < MIN_TOKENS_AFTER_ONE:
        return False
    after = [each for each in piece.after_tokens if not each.isspace()]
    differing = {each for pair in zip(piece.before, after, strict=False) if pair[0] != pair[1] for each in pair}
    return len(after) != len(piece.before) or not all(is_literal(each) for each in differing)


def is_literal(token: str) -> bool:
    """Whether a token is a number or a word such as `true`."""
    return token[0].isdigit() or token.lower() in ("true", "false", "none", "nil", "null", "undefined")


def _names(tokens: Sequence[str | int]) -> frozenset[str]:
    return frozenset(each for each in tokens if isinstance(each, str) and _NAME(each))


def _pieces(situation: Situation, file: EditedFile) -> Iterator[Piece]:
    """The nodes that each edit of a file changed, small ones first."""
    before = text_before(situation, file)
    if before is None:
        return
    for changed in changed_lines(file):
        if changed.is_blank:
            continue
        old_line, start, end = changed.before_line, *TextChange.between(changed.before, changed.now).ends[:2]
        first, last = before.offset((old_line, start)), before.offset((old_line, end))
        node = before.root.descendant_for_byte_range(first, max(first, last - 1)) if last > first else None
        if node is None:
            node = before.root.descendant_for_byte_range(max(0, first - 1), first)
        line, new = changed.before, changed.now
        for _ in range(MAX_LEVELS):
            if node is None or node.start_point[0] != node.end_point[0] or node.start_point[0] != old_line:
                break
            if node.is_named and node.start_byte <= first and node.end_byte >= last and node.type not in _TEXT:
                left = before.at(old_line, node.start_byte)[1]
                right = len(line) - before.at(old_line, node.end_byte)[1]
                after = new[left : len(new) - right] if left <= start and right <= len(line) - end else ""
                tokens = tuple(_tokens(line[left : len(line) - right]))
                if after and len(tokens) <= MAX_TOKENS:
                    yield Piece(file.path, node.type, tokens, after, changed.now_line, changed.at)
            node = node.parent


def generalised(one: Piece, other: Piece) -> Template | None:
    """The change that both edits are cases of; None if they are not alike, or fix too little."""
    if one.kind != other.kind or one.line == other.line or len(one.before) != len(other.before):
        return None
    after, other_after = one.after_tokens, other.after_tokens
    if len(after) != len(other_after):
        return None
    variables: dict[tuple[str, str], int] = {}
    before: list[str | int] = []
    for token, counterpart in zip(one.before, other.before, strict=True):
        if token == counterpart:
            before.append(token)
        elif _is_value(token) and _is_value(counterpart):
            before.append(variables.setdefault((token, counterpart), len(variables)))
        else:
            return None
    result: list[str | int] = []
    for token, counterpart in zip(after, other_after, strict=True):
        if token == counterpart:
            result.append(token)
        elif (token, counterpart) in variables:
            result.append(variables[token, counterpart])
        else:
            return None
    fixed = _names(before)
    changed = [each for each in result if isinstance(each, str) and not each.isspace()]
    if not fixed or len(before) < MIN_TOKENS or changed == [each for each in before if isinstance(each, str)]:
        return None
    return Template(one.kind, tuple(before), tuple(result), fixed, (one.line, other.line))


def _places(situation: Situation, file: EditedFile, template: Template) -> Iterator[NextEdit]:
    """Where a template matches: in the file, then in others."""
    rarest = max(template.fixed_names, key=len)
    others = [each for each in files_with(situation.index, rarest) if each != file.path]
    is_one = len(template.lines) == 1
    near = [] if is_one else by_nearness(others, file.path)[:MAX_FILES]
    shown = " and ".join(str(line + 1) for line in sorted(template.lines))
    reason = f"The edit of line {shown} of {file.path} fits here, too."
    if not is_one:
        reason = f"The edits of lines {shown} of {file.path} fit here, too."
    cause = f"repeated {file.path} {shown}"
    confidence = AFTER_ONE if is_one else SAME_FILE
    found: list[NextEdit] = []
    for path in (file.path, *near):
        text = text_of(situation, path) if situation.index.graph.files[path].language == file.language.name else None
        for node in () if text is None else _nodes(text, template.kind, rarest.encode()):
            line = node.start_point[0]
            written = (node.text or b"").decode("utf-8", "replace")
            new = template.applied(list(_tokens(written)))
            if text is None or new is None or new == written or (path == file.path and line in template.lines):
                continue
            first = text.at(line, node.start_byte)[1]
            start, end, new = _differing(written, new)
            places = (line, first + start), (line, first + end)
            sure = confidence if path == file.path else OTHER_FILE
            found.append(NextEdit("repeated", path, *places, written[start:end], new, reason, cause, sure))
    if not (is_one and len(found) > MAX_PLACES_AFTER_ONE):
        yield from found[:MAX_PLACES]


def _nodes(text: Parsed, kind: str, name: bytes) -> Iterator[Node]:
    """The nodes of a kind on one line around the occurrences of a name, in order, each once."""
    seen: set[int] = set()
    for match in re.finditer(rb"\b%b\b" % re.escape(name), text.source):
        node = text.root.descendant_for_byte_range(match.start(), match.end() - 1)
        for _ in range(2 * MAX_LEVELS):
            if node is None or node.start_point[0] != node.end_point[0]:
                break
            if node.type == kind and node.id not in seen:
                seen.add(node.id)
                yield node
            node = node.parent


def _differing(old: str, new: str) -> tuple[int, int, str]:
    """The range of whole tokens in which two texts differ, and its new text."""
    was, becomes = _SPLIT.findall(old), _SPLIT.findall(new)
    shorter = min(len(was), len(becomes))
    head = next((n for n in range(shorter) if was[n] != becomes[n]), shorter)
    tail = next((n for n in range(shorter - head) if was[-1 - n] != becomes[-1 - n]), shorter - head)
    start, end = len("".join(was[:head])), len(old) - len("".join(was[len(was) - tail :]))
    return start, end, "".join(becomes[head : len(becomes) - tail])


def _tokens(text: str) -> Iterator[str]:
    """The tokens of a text without white space."""
    return (each for each in _SPLIT.findall(text) if not each.isspace())


def _is_value(token: str) -> bool:
    """Whether a token is a name, a number or a text, which a variable may stand for."""
    return token[0].isalnum() or token[0] in "_\"'`"


_SPLIT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[^\W\d][\w$]*|\d[\w.]*|\s+|[^\w\s]")
_NAME = re.compile(r"[^\W\d]\w+").fullmatch
_TEXT = frozenset({"comment", "line_comment", "block_comment", "string_content"})
