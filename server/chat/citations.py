"""Citations that are checked: of the places that a model names only those come through that hold what is cited.

Owns what becomes of each mention of lines: kept, put right or dropped. Knows no model. How mentions are written is in
`places.py`, whether lines hold a claim in `support.py`, what is left where one is dropped in `omission.py`.

A mention is kept when its lines exist in the snapshot and hold its claim: the sentence that it stands in, or the one
before where the mention stands alone, with the fenced code that it stands above or in. One that is off by a few lines
is put right where quoted code or a name says where it belongs. What is kept is written `path:first-last`. All others
are taken out of the text. So no place comes out that was not looked up.

The check needs whole sentences, and a text that is still being written is shown as soon as it can be: word by word up
to something that a citation may begin with, and on from there at the end of its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .omission import lead_start, stands_alone, without_mention
from .places import MAY_BEGIN, Mention, find_mentions, looks_like_a_file
from .sources import Source, Sources
from .support import Claim, holds, lines_with, read_claim
from .units import FENCE_BELOW, UnitEnd, begins_block, code_of, last_blank
from .values import Case, Citation

NEAR_LINES = 12
"""A citation is put right when what it quotes or names stands no further away."""

LONGEST_SPAN = 120
"""More lines than this hold nearly any claim: they are cited only from the beginning of a definition on."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A text without places that do not hold."""

    text: str
    citations: tuple[Citation, ...] = ()  # each once, in the order of the text
    n_dropped: int = 0
    n_corrected: int = 0
    unknown_files: tuple[str, ...] = ()  # that the text names, and no folder holds


def check(text: str, sources: Sources, case: Case) -> Checked:
    """The text with checked citations. Any text in; nothing is raised."""
    checking = CheckedStream(sources, case)
    written = checking.feed(text) + checking.finish()
    return replace(checking.checked, text=written)


class CheckedStream:
    """A text piece by piece. What `feed` and `finish` return, joined, is what `check` gives for the whole."""

    def __init__(self, sources: Sources, case: Case) -> None:
        self._sources = sources
        self._case = case
        self._pending = ""  # of the unit that is being written
        self._n_shown = 0  # characters of it that are out
        self._n_plain = 0  # characters of it before which nothing may begin a citation
        self._unit_end = UnitEnd(self._names_a_place)
        self._written: list[str] = []
        self._said = read_claim(case.question, "")  # the last sentence that said something; at first, what was asked
        self._last: Source | None = None  # of the last citation that was kept
        self._citations: dict[tuple[str, str, int, int], Citation] = {}
        self._n_dropped = self._n_corrected = 0
        self._unknown: dict[str, None] = {}

    @property
    def checked(self) -> Checked:
        """Of what was returned so far."""
        return Checked(self.text(), self.citations, self._n_dropped, self._n_corrected, tuple(self._unknown))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Of what was returned so far."""
        return tuple(self._citations.values())

    def text(self) -> str:
        """What was returned so far."""
        return "".join(self._written)

    def end_of_text(self, n: int) -> str:
        """The last `n` characters of what was returned so far."""
        parts: list[str] = []
        for part in reversed(self._written):
            parts.append(part)
            n -= len(part)
            if n <= 0:
                break
        return "".join(reversed(parts))[-n if n < 0 else 0 :]

    def feed(self, piece: str) -> str:
        """What may be shown after these further characters."""
        self._pending += piece.replace("\r", "")  # a lone one would write over its line in a terminal
        out: list[str] = []
        while (end := self._unit_end.find(self._pending)) is not None:
            out.append(self._unit(end))
        out.append(self._part())
        return self._shown("".join(out))

    def finish(self) -> str:
        """The rest."""
        return self._shown(self._unit(len(self._pending)) if self._pending else "")

    def _shown(self, text: str) -> str:
        if text:
            self._written.append(text)
        return text

    def _part(self) -> str:
        """Of a unit that is not complete, what no citation can change."""
        text = self._pending
        if begins_block(text):
            end = text.rfind("\n", 0, self._n_shown) + 1
            while (line_end := text.find("\n", end) + 1) and not self._names_a_place(text[end:line_end]):
                end = line_end
        else:
            found = MAY_BEGIN.search(text, self._n_plain)
            self._n_plain = last_blank(text) if found is None else self._n_plain
            end = text.rfind(" ", 0, len(text) if found is None else found.start())
            end = lead_start(text, max(end, 0))
        start, self._n_shown = self._n_shown, max(end, self._n_shown)
        return text[start : self._n_shown]

    def _unit(self, end: int) -> str:
        """The first `end` characters, checked, without what was shown of them."""
        unit, self._pending = self._pending[:end], self._pending[end:]
        n_shown, self._n_shown, self._n_plain = self._n_shown, 0, 0
        self._unit_end = UnitEnd(self._names_a_place)
        return self._checked(unit)[n_shown:]

    # What becomes of one unit.

    def _checked(self, unit: str) -> str:
        mentions = list(self._mentions(unit))
        fence = FENCE_BELOW.search(unit)
        end = len(unit) if fence is None else fence.start()
        block = code_of(unit[end:], [mention.start - end for mention in mentions])
        said = read_claim(_outside(unit[:end], mentions), "")
        whole = read_claim(_outside(unit[:end], mentions), "", block)
        whole = whole if whole.says_something else self._said
        in_sentence = [mention for mention in mentions if mention.start < end]
        decided: list[list[str] | None] = []
        for number, mention in enumerate(mentions):
            if mention.start < end:
                claims = _claims_around(unit[:end], in_sentence, number, block) or [whole]
            else:
                claims = [read_claim("", "", block)] if block.strip() else [self._said]
            decided.append(self._places(mention, claims))
        text = unit
        for mention, places in zip(reversed(mentions), reversed(decided), strict=True):
            if places is not None:
                text = _with_places(text, mention, places) if places else without_mention(text, mention)
        kept = {place for places in decided for place in places or ()}
        # What stands together now may look like a place that nobody checked.
        while (made := self._unchecked(text, kept)) is not None:
            self._n_dropped += 1
            text = without_mention(text, made)
        if said.says_something:
            self._said = said
        self._note_unknown_files(text)
        return text

    def _places(self, mention: Mention, claims: Sequence[Claim]) -> list[str] | None:
        """The places of a mention that hold one of the claims; None for words that name no place after all."""
        if mention.exhibits:
            wanted = [exhibit for n in mention.exhibits for exhibit in self._case.exhibits[n - 1 : n]]
            spans = [(self._sources.of(exhibit), exhibit.start_line, exhibit.end_line) for exhibit in wanted]
            if wanted and all(exhibit.kind == "turn" for exhibit in wanted):
                return ["said earlier"]
        elif mention.path:
            source = self._sources.find(mention.path)
            spans = [(source, first - 1, last) for first, last in mention.spans]
        elif self._last is not None:
            spans = [(self._last, first - 1, last) for first, last in mention.spans]
        else:
            return None
        kept = [place for source, start, end in spans if (place := self._place(source, start, end, claims))]
        self._n_dropped += max(len(spans), len(mention.exhibits)) - len(kept)
        return kept

    def _place(self, source: Source | None, start: int, end: int, claims: Sequence[Claim]) -> str:
        """`path:first-last` of lines that hold one of the claims, those named or others near by; "" for none."""
        found = None if source is None else _held_span(source, start, end, claims)
        if source is None or found is None:
            return ""
        self._n_corrected += found != (start, end)
        self._last = source
        citation = Citation(source.path, *found, "\n".join(source.between(*found)), source.folder)
        self._citations.setdefault((source.folder, source.path, *found), citation)
        return citation.place

    def _names_a_place(self, text: str) -> bool:
        return next(self._mentions(text), None) is not None

    def _mentions(self, text: str) -> Iterator[Mention]:
        spans = [found.span() for found in _CODE.finditer(text)]
        return find_mentions(text, self._sources.is_file, lambda at: any(start < at < end for start, end in spans))

    def _unchecked(self, text: str, kept: set[str]) -> Mention | None:
        # Of a path with blanks the last word alone looks like a place.
        blanks = [found.span() for place in kept if " " in place for found in re.finditer(re.escape(place), text)]
        for mention in self._mentions(text):
            if any(start < mention.start and mention.end <= end for start, end in blanks):
                continue
            places = {f"{mention.path}:{first}-{last}" for first, last in mention.spans}
            if mention.exhibits or (mention.path and not places <= kept):
                return mention
        return None

    def _note_unknown_files(self, text: str) -> None:
        for found in _FILE_WORD.finditer(text):
            name = found["quoted"] or found["path"]
            if "." in name.rpartition("/")[2] and looks_like_a_file(name) and not self._sources.knows(name):
                self._unknown[name] = None


def _held_span(source: Source, start: int, end: int, claims: Sequence[Claim]) -> tuple[int, int] | None:
    """The lines, or the nearest ones, that hold one of the claims; 0-based and half-open."""
    start, end = min(start, end - 1), max(start + 1, end)
    if end <= source.first_line or start >= source.end_line or end - source.end_line > NEAR_LINES:
        return None
    start, end = max(start, source.first_line), min(end, source.end_line)
    if end - start > LONGEST_SPAN and not source.begins_definition(start):
        return None
    for claim in claims:
        if holds(claim, source.between(start, end), source.around(start, end)):
            return start, end
    first = max(source.first_line, start - NEAR_LINES)
    near = source.between(first, min(source.end_line, end + NEAR_LINES))
    for claim in claims:
        hits = [first + number for number in lines_with(claim, near)]
        if not hits:
            continue
        if claim.quote:
            moved = (min(hits), max(hits) + 1)
        else:
            nearest = min(hits, key=lambda line: max(start - line, line - end + 1))
            moved = (min(start, nearest), max(end, nearest + 1))
        if holds(claim, source.between(*moved), source.around(*moved)):
            return moved
    return None


def _with_places(text: str, mention: Mention, places: Sequence[str]) -> str:
    """The text with a mention written as checked places."""
    before, after = text[: mention.start], text[mention.end :]
    marks = mention.marks
    written = ", ".join(f"{marks}{place}{marks[::-1].replace('<', '>')}" for place in places)
    if mention.label:
        written = f"{mention.label} ({written})"
    elif mention.exhibits and stands_alone(text, mention):
        written = f"{'' if before[-1:].isspace() or not before else ' '}({written})"
    # Digits and signs behind a number would make it another one.
    joins = (after[:1].isalnum() and after[:1].isascii()) or (
        after[:1] in ("_", "-", ":", "#", ".") and after[1:2].isalnum()
    )
    return f"{before}{written}{' ' if joins else ''}{after}"


def _claims_around(sentence: str, mentions: Sequence[Mention], number: int, block: str) -> list[Claim]:
    """What a sentence may say of the lines of one of its mentions: any of these will do. Empty when it says nothing."""
    before = sentence[mentions[number - 1].end if number else 0 : mentions[number].start]
    after = sentence[mentions[number].end : mentions[number + 1].start if number + 1 < len(mentions) else None]
    # Of several mentions each has the words before it, as in "X (a.py:1) and Y (b.py:2)", or those behind it.
    parts = [(before, after)] if len(mentions) == 1 else [(before, ""), ("", after)]
    return [claim for part in parts if (claim := read_claim(*part, block)).says_something]


def _outside(text: str, mentions: Sequence[Mention]) -> str:
    """The text with a blank for each mention in it."""
    ends = [0, *(mention.end for mention in mentions)]
    starts = [*(mention.start for mention in mentions), len(text)]
    return " ".join(text[end:start] for end, start in zip(ends, starts, strict=True))


_CODE = re.compile(
    r"(?:^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)|\Z))|(?P<ticks>`+)[^`\n]+(?P=ticks)", re.M | re.S
)
_FILE_WORD = re.compile(
    r"`(?P<quoted>[\w./@+-]+\.\w+)`|(?<![\w/:.@])(?P<path>[\w.@+-]+(?:/[\w.@+-]+)*/[\w.@+-]+\.\w+)(?![\w/])"
)
