"""Where a template of alike edits fits, and what it writes there.

Owns the search for its tokens in the file and in near ones, and the new text with the spaces and names of the place.
Knows no confidence.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from ..workspace.text import TextLines
from ..workspace.text import is_word as is_word_character
from .before import files_with_word, text_now
from .edited_files import is_word
from .nearness import by_nearness
from .template import Template
from .token_changes import (
    BREAK,
    Change,
    Run,
    Token,
    is_layout,
    is_value,
    joined,
    leading_space,
    line_at,
    lines_around,
    numbered_tokens,
    text_between,
)
from .values import At, Situation, with_plain_breaks

MAX_FILES = 12
"""The most other files that are searched for one change, near ones first."""

MAX_LINES = 40
"""The most places of some tokens in a file that are compared with a change; more say nothing."""

MAX_EXTENSION = 5
"""So many tokens on each side are added to tokens that have more places."""

MAX_PLACES = 60
"""After so many places of one change no other file is searched."""

MAX_CONTEXT = 8
"""So many tokens on each side of a change are compared."""

MAX_TOKENS_APART = 40
"""A change of two parts fits where the second part is within so many tokens."""

MAX_WORDS = 2
"""So many words of a change lead to other files."""

MAX_FILES_OF_WORD = 200
"""A word in more files leads to no other file."""


Placed = tuple[Run, int, int]
"""A run of a change, and the numbers of the first token that it replaces at a place and of the one behind."""


class Replaced(NamedTuple):
    """The range that an edit replaces, its text, and its new text."""

    start: At
    end: At
    old: str
    new: str


@dataclass(frozen=True, eq=False)
class NumberedText:
    """The text of a file now, with "\\n" line breaks."""

    text: str
    lines: tuple[str, ...]
    positions: TextLines

    def window(self, first: int, last: int) -> Window:
        """The tokens of some lines with those of the lines with text around them. Each line is read once."""
        known, own = self._tokens, list[list[Token]]()
        for number in range(*lines_around(self.lines, first, last)):
            if number not in known:
                known[number] = numbered_tokens(self.lines[number], number)
            own.append(known[number])
        tokens = tuple(joined(own))
        return Window(tokens, tuple(token.text for token in tokens))

    @cached_property
    def _tokens(self) -> dict[int, list[Token]]:
        """Of the lines that were read."""
        return {}


class Window(NamedTuple):
    """Tokens around a place, and their texts."""

    tokens: tuple[Token, ...]
    texts: tuple[str, ...]

    def at(self, line: int, character: int) -> int | None:
        """The number of the token that begins at a position; None without any."""
        number = bisect_left(self.tokens, (line, character), key=_start)
        return number if number < len(self.tokens) and _start(self.tokens[number]) == (line, character) else None


def _start(token: Token) -> At:
    return token.line, token.start


@dataclass(frozen=True, slots=True)
class Fit:
    """A place where a change fits: the tokens there, which of them each run replaces, and the names there.

    `n_equal` is the number of equal tokens before the main run and behind the last one. `is_whole`: all tokens of the
    line are equal.
    """

    path: str
    source: NumberedText
    change: Change
    tokens: Sequence[Token]
    placed: tuple[Placed, ...]
    names: Mapping[str, str]
    n_equal: int
    is_whole: bool

    @property
    def line(self) -> int:
        return self.tokens[self.placed[0][1]].line

    def replaced(self) -> Replaced | None:
        """The edit; None if the parts of the change overlap here."""
        lines, pieces = self.source.lines, list[str]()
        indent = leading_space(lines[self.line])
        begin = at = None
        for run, start, end in self.placed:
            first, last = self._gap(run, start, end)
            if last < first or (at is not None and first < at):
                return None
            if begin is None or at is None:
                begin = first
            else:
                pieces.append(text_between(lines, 0, at, first))
            gap = text_between(lines, 0, first, last)
            pieces.append(_new_gap(run, gap, self.change.indent, indent, self.names))
            at = last
        if begin is None or at is None:
            return None
        return _shortened(begin, text_between(lines, 0, begin, at), "".join(pieces))

    def _gap(self, run: Run, start: int, end: int) -> tuple[At, At]:
        """From the token before a run to the one behind it; for new lines where they are inserted."""
        tokens, lines = self.tokens, self.source.lines
        before = (tokens[start - 1].end_line, tokens[start - 1].end) if start else (tokens[0].line, 0)
        behind = (tokens[end].line, tokens[end].start) if end < len(tokens) else (tokens[-1].end_line, 0)
        if run.is_last and end:
            behind = tokens[end - 1].end_line, tokens[end - 1].end
        if self.change.inserts_lines:
            # Below the line with text above, or above the one below, as in the change.
            at = (tokens[start - 1].line + 1, 0) if start and self.change.is_below_text else (tokens[start].line, 0)
            before = behind = at
        last = len(lines) - 1, len(lines[-1])
        return min(before, last), min(behind, last)


def fits_of(situation: Situation, template: Template) -> list[Fit]:
    """Where a template fits, in the files of its changes first."""
    found: list[Fit] = []
    own = {change.path for change in template.changes}
    first = sorted(own, key=lambda each: (each != template.latest.path, each))
    for path in (*first, *_other_files(situation, template, own)):
        source = _source_of(situation, path)
        if source is not None:
            found += _fits_in(situation, template, path, source)
        if len(found) >= MAX_PLACES:
            break
    return found


def _source_of(situation: Situation, path: str) -> NumberedText | None:
    edited = situation.edited_by_path.get(path)
    if edited is not None:
        return _source(edited.now.text)
    source = situation.index.texts.get(path)
    if source is None:
        return None
    situation.work.pause()
    return _decoded(source)


@lru_cache(maxsize=64)
def _source(text: str) -> NumberedText:
    lines = with_plain_breaks(TextLines(text))
    return NumberedText(lines.text, tuple(lines.text.split(BREAK)), lines)


@lru_cache(maxsize=64)
def _decoded(source: bytes) -> NumberedText:
    return _source(source.decode("utf-8", "replace"))


def _other_files(situation: Situation, template: Template, own: set[str]) -> list[str]:
    """Near files that have the words of a change: edited ones and those of the same name first."""
    latest = template.latest
    language = situation.edited_by_path[latest.path].language.name
    graph = situation.index.graph.files
    found: set[str] = set()
    for word in _telling_words(template):
        files = set(files_with_word(situation, word))
        found = found & files or found or files
    if len(found) > MAX_FILES_OF_WORD:
        found &= situation.edited_by_path.keys()
    near = [each for each in found if each not in own and each in graph and graph[each].language == language]
    name = latest.path.rpartition("/")[2]
    order = by_nearness(near, latest.path)
    order.sort(key=lambda each: (each not in situation.edited_by_path, each.rpartition("/")[2] != name))
    return order[:MAX_FILES]


def _telling_words(template: Template) -> list[str]:
    """The words by which other files are found: the longest of the replaced tokens, else of the lines around."""
    change = template.latest

    def words(tokens: Sequence[str]) -> list[str]:
        found = {each for each in tokens if len(each) > 2 and is_word(each) and each not in template.variables}
        return sorted(found, key=lambda each: (-len(each), each))[:MAX_WORDS]

    line = change.main_line
    if change.inserts_lines:
        line = (*change.line_above_main, *line)
    return words(change.old) or words(line)


Span = tuple[int, int]
"""Numbers of tokens of a change, half-open."""


def _spans(template: Template) -> list[Span]:
    """The spans of tokens around the main run that are searched for: each has what it replaces, or its neighbours."""
    change, run = template.latest, template.latest.main
    tokens, start, end = change.tokens, run.start, run.end
    if end > start:
        if any(is_value(each) for each in tokens[start:end] if each not in template.variables):
            return [(start, end)]
        return [(start - 1, end), (start, end + 1)]
    if change.inserts_lines:
        above = len(change.line_above_main) + 1 if start else 0
        return [(start - above, start), (start, start + len(change.main_line) + 1), (start - 2, start + 2)]
    return [(start - 1, start + 1), (start - 3, start), (start, start + 3)]


def _found(template: Template, span: Span, source: NumberedText) -> list[tuple[int, int, int]]:
    """Where the tokens of a span are in a text: line and character of the first one, and its number.

    A span that is there too often is extended on both sides.
    """
    tokens = template.latest.tokens
    for n_more in range(MAX_EXTENSION):
        start, end = max(0, span[0] - n_more), min(len(tokens), span[1] + n_more)
        while start < end and tokens[start] == BREAK:
            start += 1
        if start == end:
            return []
        places = _places(tokens[start:end], template.variables, source)
        if places is not None:
            return [(*place, start) for place in places]
    return []


@lru_cache(maxsize=1024)
def _places(tokens: tuple[str, ...], variables: frozenset[str], source: NumberedText) -> tuple[At, ...] | None:
    """Where some tokens begin in a text; None if they are there too often."""
    if any(is_word(each) and each not in variables and each not in source.text for each in tokens):
        return ()  # most files lack one of the words, and need no pattern
    pattern = _compiled(tokens, variables)
    found = (match for match in pattern.finditer(source.text) if not _inside_word(source.text, match.start()))
    matches = tuple(islice(found, MAX_LINES + 1))
    if len(matches) > MAX_LINES:
        return None
    return tuple(source.positions.position(match.start()) for match in matches)


@lru_cache(maxsize=256)
def _compiled(tokens: tuple[str, ...], variables: frozenset[str]) -> re.Pattern[str]:
    """Tokens as a pattern, with any white space between them."""
    parts = []
    for token in tokens:
        if token == BREAK:
            parts.append(r"\n")
        elif token in variables:
            parts.append(r"[\w$]+")
        else:
            parts.append(re.escape(token))
    # A pattern that begins with plain text is found fastest: `_places` looks at what is before a word.
    begin = r"(?<![\w$])" if tokens[0] in variables else ""
    end = r"(?![\w$])" if is_value(tokens[-1]) else ""
    return re.compile(f"{begin}{_SPACE.join(parts)}{end}")


_SPACE = r"\s*"


def _fits_in(situation: Situation, template: Template, path: str, source: NumberedText) -> Iterator[Fit]:
    """Where a template fits in a file, in order of lines; not in the lines of recent edits."""
    edited = situation.edited_by_path.get(path)
    recent = {line for hunk in edited.hunks for line in range(hunk.start_line, hunk.end_line)} if edited else set()
    n_more = max(0, template.latest.last - template.latest.first)
    declared: set[int] | None = None
    places = {place for span in _spans(template) for place in _found(template, span, source)}
    seen: set[At] = set()
    for line, character, own in sorted(places):
        window = _window(source, line, n_more)
        at = window.at(line, character)
        fit = None if at is None else _fit_at(template, path, source, window, at - own)
        if fit is None or fit.line in recent:
            continue
        if declared is None:
            declared = _declared(situation, path, template.latest.old)
        if fit.line in declared and not fit.is_whole:
            continue
        first = fit.tokens[fit.placed[0][1]]
        if (first.line, first.start) not in seen:
            seen.add((first.line, first.start))
            yield fit


@lru_cache(maxsize=2048)
def _window(source: NumberedText, line: int, n_more: int) -> Window:
    """The tokens of a line, so many more on each side, and those with text around them."""
    return source.window(max(0, line - n_more), min(len(source.lines) - 1, line + n_more))


def _declared(situation: Situation, path: str, tokens: Sequence[str]) -> set[int]:
    """The lines that declare one of these tokens: it is not replaced there as where it is used."""
    names = set(filter(is_word, tokens))
    if not names:
        return set()
    edited = situation.edited_by_path.get(path)
    text = None if edited is None else text_now(situation, edited)
    graph = situation.index.graph.files.get(path) if text is None else text.graph
    return {each.header_line for each in graph.definitions if each.name in names} if graph is not None else set()


def _fit_at(template: Template, path: str, source: NumberedText, window: Window, shift: int) -> Fit | None:
    """The fit in which the main run is at its own position plus `shift`; None if a run is not there."""
    change, main = template.latest, template.latest.main
    tokens, texts = window
    names: dict[str, str] = {}
    start = main.start + shift
    if not 0 <= start < len(tokens) or not _has_run(template, main, texts, start, names):
        return None
    if change.inserts_lines and not _has_lines(change, texts, start):
        return None
    placed: list[Placed] = [(main, start, start + main.end - main.start)]
    for run in change.runs[change.runs.index(main) + 1 :]:
        before, _, end = placed[-1]
        at = _next_place(template, run, texts, end, end + run.start - before.end, names)
        if at is not None:
            placed.append((run, at, at + run.end - run.start))
        elif not is_layout(run, change.tokens):
            return None
    last, _, end = placed[-1]
    n_equal = n_common(change.tokens, main.start, texts, start, -1) + n_common(change.tokens, last.end, texts, end, 1)
    line, own_line = line_at(texts, start), change.main_line
    if _have_one_form(line, own_line):
        _bind(change, zip(own_line, line, strict=True), names)
    return Fit(path, source, change, tokens, tuple(placed), names, n_equal, line == own_line)


def _bind(change: Change, pairs: Iterable[tuple[str, str]], names: dict[str, str]) -> None:
    """New tokens that repeat names of the line repeat those of the line at the place."""
    written = set(change.new)
    for own, other in pairs:
        if own in written:
            names.setdefault(own, other)


def _has_run(template: Template, run: Run, texts: Sequence[str], start: int, names: dict[str, str]) -> bool:
    """Whether the tokens that a run replaces are at a position; an insertion needs its neighbours."""
    old = template.latest.tokens[run.start : run.end]
    there = texts[start : start + len(old)]
    if len(there) != len(old):
        return False
    bound = dict(names)
    for token, other in zip(old, there, strict=True):
        if token in template.variables:
            if not is_value(other) or bound.setdefault(token, other) != other:
                return False
        elif token != other:
            return False
    if not old:
        before, behind = (_same(template, run.start + side, texts, start + side) for side in (-1, 0))
        if not (before and behind) or "=" not in before + behind:
            return False
    names.update(bound)
    return True


def _same(template: Template, at: int, texts: Sequence[str], there: int) -> str:
    """`=` for equal tokens, `~` for two words or two numbers, nothing for others."""
    tokens = template.latest.tokens
    own = tokens[at] if 0 <= at < len(tokens) else ""
    other = texts[there] if 0 <= there < len(texts) else ""
    if own == other:
        return "="
    return "~" if own and other and is_value(own) and is_value(other) else ""


def _next_place(
    template: Template, run: Run, texts: Sequence[str], least: int, wanted: int, names: dict[str, str]
) -> int | None:
    """The position of a further run: as far behind the one before as in the change, else the next that fits."""
    if wanted >= least and _has_run(template, run, texts, wanted, names):
        return wanted
    candidates = _candidates(template, run, texts, range(least, min(len(texts), least + MAX_TOKENS_APART)))
    return next((at for at in candidates if _has_run(template, run, texts, at, names)), None)


def _candidates(template: Template, run: Run, texts: Sequence[str], positions: range) -> Sequence[int]:
    """The positions that have the first token of a run, or one of its neighbours where it inserts."""
    tokens = template.latest.tokens
    behind = tokens[run.start] if run.start < len(tokens) else ""
    if run.end > run.start:
        return positions if behind in template.variables else [at for at in positions if texts[at] == behind]
    before = tokens[run.start - 1] if run.start else ""
    return [at for at in positions if texts[at] == behind or (texts[at - 1] if at else "") == before]


def _has_lines(change: Change, texts: tuple[str, ...], there: int) -> bool:
    """Whether the line above or below the main run and a line start is equal, or both have the same form."""
    above, below = line_at(texts, max(0, there - 1)), line_at(texts, there)
    if above == change.line_above_main or below == change.main_line:
        return True
    return _have_one_form(above, change.line_above_main) and _have_one_form(below, change.main_line)


def _have_one_form(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two lines have the same tokens but for words and numbers."""
    if len(one) != len(other):
        return False
    return all(a == b or (is_value(a) and is_value(b)) for a, b in zip(one, other, strict=True))


def n_common(one: Sequence[str], at: int, other: Sequence[str], other_at: int, side: int) -> int:
    """The number of equal tokens before (-1) or behind (1) two positions, MAX_CONTEXT at most."""
    n = 0
    while n < MAX_CONTEXT:
        here, there = (at - 1 - n, other_at - 1 - n) if side < 0 else (at + n, other_at + n)
        if here < 0 or there < 0 or here >= len(one) or there >= len(other) or one[here] != other[there]:
            break
        n += 1
    return n


def _new_gap(run: Run, gap: str, own_indent: str, indent: str, names: Mapping[str, str]) -> str:
    """What becomes of the text between two tokens: as in the change, but with the spaces and names of the place."""
    lead, body, tail = _parts(_indented(run.becomes, own_indent, indent))
    own_lead, own_body, own_tail = _parts(own := _indented(run.gap, own_indent, indent))
    there_lead, _, there_tail = _parts(gap)
    body = _renamed(body, names)
    if body and own_body:
        return f"{there_lead if lead == own_lead else lead}{body}{there_tail if tail == own_tail else tail}"
    if body:
        if lead == own != gap:
            return f"{gap}{body}{tail}"
        return f"{lead}{body}{gap}" if tail == own != gap else f"{lead}{body}{tail}"
    if lead == own_lead:
        return there_lead
    return there_tail if lead == own_tail else lead


def _parts(text: str) -> tuple[str, str, str]:
    """White space before, the text, and white space behind; all of a blank text is before."""
    body = text.strip()
    start = len(text) - len(text.lstrip())
    return text[:start], body, text[start + len(body) :]


def _indented(text: str, own: str, indent: str) -> str:
    """A text moved from one indentation to another."""
    if own == indent:
        return text
    lines = text.split(BREAK)
    return BREAK.join(
        f"{indent}{line[len(own) :]}" if line.strip() and line.startswith(own) and (own or n) else line
        for n, line in enumerate(lines)
    )


def _renamed(text: str, names: Mapping[str, str]) -> str:
    changed = {old: new for old, new in names.items() if old != new}
    if not changed:
        return text
    pattern = re.compile(rf"(?<![\w$])(?:{'|'.join(map(re.escape, changed))})(?![\w$])")
    return pattern.sub(lambda match: changed[match[0]], text)


def _shortened(begin: At, old: str, new: str) -> Replaced:
    """The edit without what stays at both ends, in whole words."""
    n = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    while n > 0 and (_inside_word(old, n) or _inside_word(new, n)):
        n -= 1
    shorter = min(len(old), len(new)) - n
    m = next((m for m in range(shorter) if old[-1 - m] != new[-1 - m]), shorter)
    while m > 0 and (_inside_word(old, len(old) - m) or _inside_word(new, len(new) - m)):
        m -= 1
    end = len(old) - m
    return Replaced(_moved(begin, old[:n]), _moved(begin, old[:end]), old[n:end], new[n : len(new) - m])


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and is_word_character(text[at - 1]) and is_word_character(text[at])


def _moved(at: At, text: str) -> At:
    """The position behind a text that begins at another one."""
    n = text.count(BREAK)
    return (at[0], at[1] + len(text)) if not n else (at[0] + n, len(text) - text.rfind(BREAK) - 1)
