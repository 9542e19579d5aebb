"""Random lines of code with a cursor: at their start, behind a piece, or behind the opening bracket of a call.

Owns which lines are code and where the cursor is. Knows no feature and no weight.
"""

from __future__ import annotations

import io
import random
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...codegraph import FileGraph
from ...languages import Language, language_of
from ..repoeval.tasks import MIN_PIECES, PIECE, SEED

KINDS = ("start", "mid", "call")
SHARES = {"call": 1 / 6, "mid": 1 / 3}  # the others are whole lines
MAX_IMPORT_SHARE = 0.05

_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
_TYPE_ARGUMENTS = r"(?:\s*(?:::)?<[^()<>]*>|\[[^()\[\]]*\])?"


class SampledLine(NamedTuple):
    """A cursor in a line, 0-based in characters, and whether the stripped line occurs once in its tree."""

    path: str
    line: int
    column: int
    kind: str  # one of `KINDS`
    is_unique: bool


def draw_lines(
    texts: Mapping[str, str], files: Mapping[str, FileGraph], n_lines: int, name: str = ""
) -> list[SampledLine]:
    """At most `n_lines` random lines of code with distinct texts, in the order of the files; the same always.

    `texts` have "\\n" as line breaks, `files` their graphs. At most `MAX_IMPORT_SHARE` of the lines are imports.
    """
    rng = random.Random(f"{SEED}:{name}:scorer")
    lines = {path: text.split("\n") for path, text in texts.items()}
    counts: dict[str, int] = {}
    for of_file in lines.values():
        for line in of_file:
            counts[line.strip()] = counts.get(line.strip(), 0) + 1
    found = {
        lines[path][at].strip(): (path, at) for path, text in sorted(texts.items()) for at in code_lines(path, text)
    }
    places = sorted(found.values())
    rng.shuffle(places)
    chosen = _with_few_imports(places, files, n_lines)
    sampled = []
    quota = {kind: round(share * len(chosen)) for kind, share in SHARES.items()}
    for path, at in chosen:
        text = lines[path][at]
        kind, column = "start", 0
        for each, columns in (("call", call_columns(path, at, text, files)), ("mid", mid_columns(text))):
            if quota[each] and columns:
                quota[each] -= 1
                kind, column = each, rng.choice(columns)
                break
        sampled.append(SampledLine(path, at, column, kind, counts[text.strip()] == 1))
    return sorted(sampled)


def code_lines(path: str, text: str) -> Iterator[int]:
    """The lines with at least `MIN_PIECES` pieces that hold code alone: no comment, no part of a text of several lines.

    0-based, without the first line. None for a file without a grammar.
    """
    language = language_of(path)
    if language.grammar is None:
        return
    no_code = _python_lines_without_code(text) if language.name == "python" else _lines_without_code(text, language)
    for number, line in enumerate(text.split("\n")):
        if number and number not in no_code and len(PIECE.findall(line)) >= MIN_PIECES:
            yield number


def mid_columns(line: str) -> list[int]:
    """The columns behind the pieces of a line that are followed by more than signs."""
    return [found.end() for found in PIECE.finditer(line) if re.search(r"\w", line[found.end() :])]


def call_columns(path: str, number: int, line: str, files: Mapping[str, FileGraph]) -> list[int]:
    """The columns directly behind the opening brackets of the line's calls that are followed by more than signs."""
    names = {call.callee.rpartition(".")[2] for call in files[path].calls if call.line == number} - {""}
    if not names:
        return []
    called = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(names)))})!?{_TYPE_ARGUMENTS}\s*\(")
    return [found.end() for found in called.finditer(line) if re.search(r"\w", line[found.end() :])]


def _with_few_imports(
    places: Sequence[tuple[str, int]], files: Mapping[str, FileGraph], n_lines: int
) -> list[tuple[str, int]]:
    imports = {(path, each.line) for path in {path for path, _ in places} for each in files[path].imports}
    n_others = min(n_lines, sum(place not in imports for place in places))
    n_imports = min(int(MAX_IMPORT_SHARE * n_lines), int(MAX_IMPORT_SHARE / (1 - MAX_IMPORT_SHARE) * n_others))
    chosen = list[tuple[str, int]]()
    for place in places:
        if len(chosen) == n_lines:
            break
        if place in imports:
            if not n_imports:
                continue
            n_imports -= 1
        chosen.append(place)
    return chosen


def _python_lines_without_code(text: str) -> set[int]:
    """Lines without a token, with a comment, or with a part of a text of several lines; all where a token is wrong."""
    n_lines = text.count("\n") + 1
    starts: set[int] = set()
    left_out: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            first, last = token.start[0] - 1, token.end[0] - 1
            if token.type == tokenize.COMMENT:
                left_out.add(first)
            elif token.type not in _LAYOUT:
                starts.add(first)
                if last > first or (token.type == tokenize.STRING and token.line.strip() == token.string):
                    left_out.update(range(first, last + 1))
                if tokenize.tok_name[token.type] == "FSTRING_START" and len(token.string.lstrip("rRfFbB")) == 3:
                    left_out.add(first)
    except (tokenize.TokenError, SyntaxError):
        return set(range(n_lines))
    return set(range(n_lines)) - (starts - left_out)


def _lines_without_code(text: str, language: Language) -> set[int]:
    """Lines with a comment, with a part of a text of several lines, or with nothing but a text."""
    lexer = language.lexer
    left_out: set[int] = set()
    line_starts = [0, *(found.end() for found in re.finditer("\n", text)), len(text) + 1]
    lines = text.split("\n")
    number = 0
    for start, end in sorted(lexer.scan(text, lexer.outside).protected):
        begin, end = max(start, 0), min(end, len(text))
        while line_starts[number + 1] <= begin:
            number += 1
        inside = text[begin:end].rstrip("\r\n")
        first, n_breaks = number, inside.count("\n")
        is_comment = inside.startswith(lexer.comment_marks) if lexer.comment_marks else False
        if n_breaks or start < 0 or is_comment or inside.strip() == lines[first].strip().rstrip(",;"):
            left_out.update(range(first, first + n_breaks + 1))
    return left_out
