"""What recent edits changed, as runs of tokens with the tokens around them.

Owns tokens, the comparison of two texts by them, and what makes two changes alike. Knows no other place of a change.
A token is a word, a number, another character, or a line break with the blank lines behind it. Lines and characters
are 0-based.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import NamedTuple

from .edited_files import hunks_with_lines_before, is_word, line_tokens
from .values import At, EditedFile

N_LINES_AROUND = 2
"""Lines with text above and below a change whose tokens count as its context."""

MAX_TOKENS = 400
"""Changes of longer regions are not compared."""

MAX_RUNS = 8
"""An edit of more separate runs of tokens is no pattern."""

N_AROUND = 12
"""Lines around an edit in which those with text are looked for."""

BREAK = "\n"


class Token(NamedTuple):
    """A token and its range; that of a line break ends at the next line with text."""

    text: str
    line: int
    start: int
    end_line: int
    end: int


class Run(NamedTuple):
    """Tokens `start` to `end` of a change became `new`.

    `gap` is the text between the tokens around them before the edit, `becomes` the same now. `is_last`: the changed
    lines end with these tokens, so that both texts end with them.
    """

    start: int
    end: int
    new: tuple[str, ...]
    gap: str
    becomes: str
    is_last: bool


@dataclass(frozen=True, eq=False)
class Change:
    """One changed region: the tokens around and in it before the edit, and the replaced runs of them.

    `first` and `last` are its lines before the edit (`last` is before `first` where lines were inserted), `now_line`
    and `now_end` its lines now (half-open). `at` is the time of the edit.
    """

    path: str
    first: int
    last: int
    now_line: int
    now_end: int
    at: float
    tokens: tuple[str, ...]
    runs: tuple[Run, ...]
    indent: str
    is_below_text: bool  # the line above has text

    @cached_property
    def main(self) -> Run:
        """The first run that is no line break alone."""
        return next(run for run in self.runs if not is_layout(run, self.tokens))

    @cached_property
    def main_line(self) -> tuple[str, ...]:
        """The tokens of the line on which the main run begins."""
        return line_at(self.tokens, self.main.start)

    @cached_property
    def line_above_main(self) -> tuple[str, ...]:
        """The tokens of the line before the main run, where this is at the start of a line."""
        return line_at(self.tokens, max(0, self.main.start - 1))

    @cached_property
    def signature(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """Old and new tokens of each run, without line breaks: equal for changes with the same tokens."""
        return tuple(
            (_without_breaks(self.tokens[run.start : run.end]), _without_breaks(run.new))
            for run in self.runs
            if not is_layout(run, self.tokens)
        )

    @cached_property
    def form(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """The signature with each name replaced by the number of its first occurrence."""
        numbers: dict[str, int] = {}

        def numbered(tokens: Sequence[str]) -> tuple[str, ...]:
            return tuple(f"#{numbers.setdefault(each, len(numbers))}" if is_word(each) else each for each in tokens)

        return tuple((numbered(old), numbered(new)) for old, new in self.signature)

    @cached_property
    def old(self) -> tuple[str, ...]:
        return tuple(each for old, _ in self.signature for each in old)

    @cached_property
    def new(self) -> tuple[str, ...]:
        return tuple(each for _, new in self.signature for each in new)

    def moved(self, before_line: int, now_line: int, at: float) -> Change:
        """The change with its lines counted from others, and its time."""
        return replace(
            self,
            first=self.first + before_line,
            last=self.last + before_line,
            now_line=self.now_line + now_line,
            now_end=self.now_end + now_line,
            at=at,
        )

    @property
    def inserts_lines(self) -> bool:
        return self.last < self.first


def changes_of(file: EditedFile) -> Iterator[Change]:
    """The changes of a file's recent edits, in order of lines. Those of white space and very long ones are left out."""
    before = file.lines_before
    for hunk, before_line in hunks_with_lines_before(file):
        end = before_line + len(hunk.before)
        above, below = before[max(0, before_line - N_AROUND) : before_line], before[end : end + N_AROUND]
        for change in _hunk_changes(file.path, tuple(above), tuple(below), hunk.before, hunk.after):
            yield change.moved(before_line - len(above), hunk.start_line, hunk.at)


@lru_cache(maxsize=256)
def _hunk_changes(
    path: str, above: tuple[str, ...], below: tuple[str, ...], before: tuple[str, ...], after: tuple[str, ...]
) -> tuple[Change, ...]:
    """The changes of one edit. Lines before the edit are counted from the first of `above`, lines now from the edit."""
    lines = (*above, *before, *below)
    # Lines that are only indented otherwise are equal.
    old, new = [line.strip() for line in before], [line.strip() for line in after]
    found = []
    for tag, start, end, at, until in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        pairs = [(start, end, at, until)]
        if end - start == until - at > 1:
            each = [(start + n, start + n + 1, at + n, at + n + 1) for n in range(end - start)]
            if all(_is_similar(old[one], new[now]) for one, _, now, _ in each):
                pairs = each
        for one, other, now, new_end in pairs:
            first = len(above) + one
            found.append(_change(path, lines, first, len(above) + other - 1, after[now:new_end], now))
    return tuple(change for change in found if change is not None)


def _is_similar(one: str, other: str) -> bool:
    """Whether two lines share half of their tokens, so that one became the other."""
    tokens, others = [text for text, _ in line_tokens(one)], [text for text, _ in line_tokens(other)]
    n_equal = sum(n for *_, n in SequenceMatcher(None, tokens, others, autojunk=False).get_matching_blocks())
    return 2 * n_equal >= min(len(tokens), len(others))


def _change(
    path: str, lines: Sequence[str], first: int, last: int, new_lines: Sequence[str], now_line: int
) -> Change | None:
    old_lines = lines[first : last + 1]
    start, end = lines_around(lines, first, last)
    tokens = _tokens_of(lines[start:end], start)
    if len(tokens) > MAX_TOKENS or sum(map(len, new_lines)) > 8 * MAX_TOKENS:
        return None
    begins = next((n for n, each in enumerate(tokens) if each.line >= first), len(tokens))
    ends = next((n for n, each in enumerate(tokens) if each.line > last and n >= begins), len(tokens))
    old = tokens[begins:ends]
    new = _tokens_of(new_lines)
    runs = tuple(_runs(begins, old, old_lines, new, new_lines, first))
    texts = tuple(each.text for each in tokens)
    if all(is_layout(run, texts) for run in runs) or len(runs) > MAX_RUNS:
        return None
    shown = next((line for line in (*old_lines, *new_lines) if line.strip()), "")
    is_below_text = first > 0 and bool(lines[first - 1].strip())
    now_end = now_line + len(new_lines)
    return Change(path, first, last, now_line, now_end, 0.0, texts, runs, leading_space(shown), is_below_text)


def _runs(
    begins: int,
    old: Sequence[Token],
    old_lines: Sequence[str],
    new: Sequence[Token],
    new_lines: Sequence[str],
    first: int,
) -> Iterator[Run]:
    texts, new_texts = [each.text for each in old], [each.text for each in new]
    merged: list[list[int]] = []
    for tag, *ends in SequenceMatcher(None, texts, new_texts, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        between = texts[merged[-1][1] : ends[0]] if merged else [BREAK]
        # Runs with nothing but signs between them are one.
        if any(each == BREAK or is_value(each) for each in between):
            merged.append(ends)
        else:
            merged[-1][1], merged[-1][3] = ends[1], ends[3]
    for start, end, at, until in merged:
        gap = _between(old_lines, old, start, end, first)
        becomes = _between(new_lines, new, at, until, 0)
        new_tokens = tuple(new_texts[at:until])
        yield Run(begins + start, begins + end, new_tokens, gap, becomes, end == len(old))


def _between(lines: Sequence[str], tokens: Sequence[Token], start: int, end: int, first: int) -> str:
    """The text between the tokens around some tokens of whole lines."""
    begin = (tokens[start - 1].end_line, tokens[start - 1].end) if start else (first, 0)
    if end < len(tokens):
        stop = tokens[end].line, tokens[end].start
    elif tokens:
        stop = tokens[-1].end_line, tokens[-1].end
    else:
        stop = first, 0
    return text_between(lines, first, begin, stop)


def text_between(lines: Sequence[str], first: int, begin: At, stop: At) -> str:
    """The text of a range of lines of which `lines` has those from `first`; a missing line is empty."""
    (line, start), (last, end) = begin, stop
    if line == last:
        return lines[line - first][start:end] if line - first < len(lines) else ""
    parts = [lines[line - first][start:]]
    parts += lines[line - first + 1 : last - first]
    parts.append(lines[last - first][:end] if last - first < len(lines) else "")
    return BREAK.join(parts)


def lines_around(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The range of some lines with the lines with text around them, half-open."""
    start, end = first, last + 1
    for _ in range(N_LINES_AROUND):
        start = next((n for n in range(start - 1, max(-1, start - 1 - N_AROUND), -1) if lines[n].strip()), start)
        end = next((n + 1 for n in range(end, min(len(lines), end + N_AROUND)) if lines[n].strip()), end)
    return start, end


def _tokens_of(lines: Sequence[str], first: int = 0) -> list[Token]:
    return joined(numbered_tokens(line, number) for number, line in enumerate(lines, first))


def numbered_tokens(line: str, number: int) -> list[Token]:
    """The tokens of a line, which has this number; the last one is its line break."""
    found = [Token(text, number, start, number, start + len(text)) for text, start in line_tokens(line)]
    found.append(Token(BREAK, number, len(line), number + 1, 0))
    return found


def joined(lines: Iterable[Sequence[Token]]) -> list[Token]:
    """The tokens of lines one after the other: a blank line belongs to the line break above it."""
    found: list[Token] = []
    for tokens in lines:
        if len(tokens) == 1 and found:
            text, line, start, _, _ = found[-1]
            found[-1] = Token(text, line, start, tokens[0].end_line, 0)
        else:
            found += tokens
    return found


def line_at(tokens: tuple[str, ...], at: int) -> tuple[str, ...]:
    """The tokens of the line around the one of a number, without its line break."""
    start = at
    while start and tokens[start - 1] != BREAK:
        start -= 1
    try:
        return tokens[start : tokens.index(BREAK, at)]
    except ValueError:
        return tokens[start:]  # the last line


def leading_space(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def is_value(token: str) -> bool:
    """Whether a token is a word or a number, which another one may replace in an alike place."""
    return token[0].isalnum() or token[0] == "_"


def is_literal(token: str) -> bool:
    """Whether a token is a number or a word such as `true`."""
    return token[0].isdigit() or token.lower() in ("true", "false", "none", "nil", "null", "undefined")


def _without_breaks(tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(each for each in tokens if each != BREAK)


def is_layout(run: Run, tokens: Sequence[str]) -> bool:
    """Whether a run has line breaks alone."""
    return not _without_breaks(tokens[run.start : run.end]) and not _without_breaks(run.new)
