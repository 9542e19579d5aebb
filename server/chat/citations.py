"""Citation checking of a streamed answer: only citations whose lines exist and support the statement are shown.

Owns the decision for each mention of lines: keep, correct or drop. Knows no model. The syntax of mentions is in
`citation_parsing.py`, the support check in `support.py`, the removal of a dropped mention in `citation_removal.py`.

A mention is kept when its lines exist in the snapshot and support its claim: its sentence, or the previous one where
the mention is alone, with the fenced code below or around it. A mention that is off by a few lines is corrected where
quoted code or a name shows the right lines. Kept mentions are written `path:first-last`; all others are removed. So
every location that is shown was looked up.

The check needs whole sentences. A streamed text is released word by word up to a possible citation, and from there at
the end of its sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .citation_parsing import MAY_BEGIN, Mention, find_mentions, looks_like_a_file
from .citation_removal import is_footnote, lead_start, without_mention
from .sentence_boundaries import FENCE_BELOW, BoundaryFinder, fenced_code, last_word_start, starts_fence
from .sources import SourceFile, Sources
from .support import Claim, is_supported, matching_lines, read_claim
from .values import Citation, EvidenceSet

NEAR_LINES = 12  # a citation is corrected when its quote or name occurs within this distance
LONGEST_SPAN = 120  # longer spans support nearly any claim: they are accepted only from the start of a definition on


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """A text whose remaining citations are checked."""

    text: str
    citations: tuple[Citation, ...] = ()  # each once, in the order of the text
    n_dropped: int = 0
    n_corrected: int = 0
    unknown_files: tuple[str, ...] = ()  # that the text names and no folder contains


def check(text: str, sources: Sources, evidence: EvidenceSet) -> CheckedAnswer:
    """The text with checked citations. Any text in; nothing is raised."""
    stream = CheckedStream(sources, evidence)
    checked_text = stream.feed(text) + stream.finish()
    return replace(stream.checked, text=checked_text)


class CheckedStream:
    """Incremental `check`: the outputs of `feed` and `finish`, joined, equal `check` of the whole text."""

    def __init__(self, sources: Sources, evidence: EvidenceSet) -> None:
        self._sources = sources
        self._evidence = evidence
        self._pending = ""  # text of the incomplete unit
        self._n_shown = 0  # characters of it that were returned
        self._n_plain = 0  # characters of it that contain no start of a citation
        self._unit_end = BoundaryFinder(self._cites_lines)
        self._returned: list[str] = []
        self._last_claim = read_claim(evidence.question, "")  # of the last sentence with content; at first the question
        self._last: SourceFile | None = None  # of the last kept citation
        self._citations: dict[tuple[str, str, int, int], Citation] = {}
        self._n_dropped = self._n_corrected = 0
        self._unknown: dict[str, None] = {}

    @property
    def checked(self) -> CheckedAnswer:
        """The text returned so far and its citations."""
        return CheckedAnswer(self.text(), self.citations, self._n_dropped, self._n_corrected, tuple(self._unknown))

    @property
    def citations(self) -> tuple[Citation, ...]:
        """Citations of the text returned so far."""
        return tuple(self._citations.values())

    def text(self) -> str:
        return "".join(self._returned)

    def end_of_text(self, n: int) -> str:
        """The last `n` characters of the text returned so far."""
        parts: list[str] = []
        for part in reversed(self._returned):
            parts.append(part)
            n -= len(part)
            if n <= 0:
                break
        return "".join(reversed(parts))[-n if n < 0 else 0 :]

    def feed(self, piece: str) -> str:
        """The text that is final after this piece."""
        self._pending += piece.replace("\r", "")  # a lone one moves a terminal's cursor to the start of the line
        out: list[str] = []
        while (end := self._unit_end.find(self._pending)) is not None:
            out.append(self._unit(end))
        out.append(self._part())
        return self._shown("".join(out))

    def finish(self) -> str:
        """The remaining text."""
        return self._shown(self._unit(len(self._pending)) if self._pending else "")

    def _shown(self, text: str) -> str:
        if text:
            self._returned.append(text)
        return text

    def _part(self) -> str:
        """The part of an incomplete unit that no citation can change."""
        text = self._pending
        if starts_fence(text):
            end = text.rfind("\n", 0, self._n_shown) + 1
            while (line_end := text.find("\n", end) + 1) and not self._cites_lines(text[end:line_end]):
                end = line_end
        else:
            found = MAY_BEGIN.search(text, self._n_plain)
            self._n_plain = last_word_start(text) if found is None else self._n_plain
            end = text.rfind(" ", 0, len(text) if found is None else found.start())
            end = lead_start(text, max(end, 0))
        start, self._n_shown = self._n_shown, max(end, self._n_shown)
        return text[start : self._n_shown]

    def _unit(self, end: int) -> str:
        """The first `end` characters, checked, without those returned before."""
        unit, self._pending = self._pending[:end], self._pending[end:]
        n_shown, self._n_shown, self._n_plain = self._n_shown, 0, 0
        self._unit_end = BoundaryFinder(self._cites_lines)
        return self._checked(unit)[n_shown:]

    # The check of one unit.

    def _checked(self, unit: str) -> str:
        mentions = list(self._mentions(unit))
        fence = FENCE_BELOW.search(unit)
        end = len(unit) if fence is None else fence.start()
        block = fenced_code(unit[end:], [mention.start - end for mention in mentions])
        claim = read_claim(_outside(unit[:end], mentions), "")
        whole = read_claim(_outside(unit[:end], mentions), "", block)
        whole = whole if whole.has_content else self._last_claim
        in_sentence = [mention for mention in mentions if mention.start < end]
        decided: list[list[str] | None] = []
        for number, mention in enumerate(mentions):
            if mention.start < end:
                claims = _claims_around(unit[:end], in_sentence, number, block) or [whole]
            else:
                claims = [read_claim("", "", block)] if block.strip() else [self._last_claim]
            decided.append(self._checked_locations(mention, claims))
        text = unit
        for mention, locations in zip(reversed(mentions), reversed(decided), strict=True):
            if locations is not None:
                text = _with_locations(text, mention, locations) if locations else without_mention(text, mention)
        kept = {location for locations in decided for location in locations or ()}
        # Text that is joined by a removal may look like another citation.
        while (unchecked := self._unchecked(text, kept)) is not None:
            self._n_dropped += 1
            text = without_mention(text, unchecked)
        if claim.has_content:
            self._last_claim = claim
        self._note_unknown_files(text)
        return text

    def _checked_locations(self, mention: Mention, claims: Sequence[Claim]) -> list[str] | None:
        """The checked locations of a mention; None where the words turn out to cite no lines."""
        if mention.item_numbers:
            wanted = [item for n in mention.item_numbers for item in self._evidence.items[n - 1 : n]]
            spans = [(self._sources.of(item), item.start_line, item.end_line) for item in wanted]
            if wanted and all(item.kind == "turn" for item in wanted):
                return ["said earlier"]
        elif mention.path:
            source = self._sources.find(mention.path)
            spans = [(source, first - 1, last) for first, last in mention.spans]
        elif self._last is not None:
            spans = [(self._last, first - 1, last) for first, last in mention.spans]
        else:
            return None
        found = (self._checked_location(source, start, end, claims) for source, start, end in spans)
        kept = [location for location in found if location]
        self._n_dropped += max(len(spans), len(mention.item_numbers)) - len(kept)
        return kept

    def _checked_location(self, source: SourceFile | None, start: int, end: int, claims: Sequence[Claim]) -> str:
        """`path:first-last` of the cited lines, or of lines near them, that support one of the claims; "" for none."""
        found = None if source is None else _supported_span(source, start, end, claims)
        if source is None or found is None:
            return ""
        self._n_corrected += found != (start, end)
        self._last = source
        citation = Citation(source.path, *found, "\n".join(source.between(*found)), source.folder)
        self._citations.setdefault((source.folder, source.path, *found), citation)
        return citation.location

    def _cites_lines(self, text: str) -> bool:
        return next(self._mentions(text), None) is not None

    def _mentions(self, text: str) -> Iterator[Mention]:
        spans = [found.span() for found in _CODE.finditer(text)]
        return find_mentions(text, self._sources.is_file, lambda at: any(start < at < end for start, end in spans))

    def _unchecked(self, text: str, kept: set[str]) -> Mention | None:
        # The last word of a path with spaces looks like a location by itself.
        spaced = [location for location in kept if " " in location]
        blanks = [found.span() for location in spaced for found in re.finditer(re.escape(location), text)]
        for mention in self._mentions(text):
            if any(start < mention.start and mention.end <= end for start, end in blanks):
                continue
            locations = {f"{mention.path}:{first}-{last}" for first, last in mention.spans}
            if mention.item_numbers or (mention.path and not locations <= kept):
                return mention
        return None

    def _note_unknown_files(self, text: str) -> None:
        for found in _FILE_WORD.finditer(text):
            name = found["quoted"] or found["path"]
            if "." in name.rpartition("/")[2] and looks_like_a_file(name) and not self._sources.knows(name):
                self._unknown[name] = None


def _supported_span(source: SourceFile, start: int, end: int, claims: Sequence[Claim]) -> tuple[int, int] | None:
    """The lines, or the nearest ones, that support one of the claims; 0-based and half-open."""
    start, end = min(start, end - 1), max(start + 1, end)
    if end <= source.first_line or start >= source.end_line or end - source.end_line > NEAR_LINES:
        return None
    start, end = max(start, source.first_line), min(end, source.end_line)
    if end - start > LONGEST_SPAN and not source.starts_definition(start):
        return None
    for claim in claims:
        if is_supported(claim, source.between(start, end), source.enclosing_names(start, end)):
            return start, end
    first = max(source.first_line, start - NEAR_LINES)
    near = source.between(first, min(source.end_line, end + NEAR_LINES))
    for claim in claims:
        hits = [first + number for number in matching_lines(claim, near)]
        if not hits:
            continue
        if claim.quote:
            moved = (min(hits), max(hits) + 1)
        else:
            nearest = min(hits, key=lambda line: max(start - line, line - end + 1))
            moved = (min(start, nearest), max(end, nearest + 1))
        if is_supported(claim, source.between(*moved), source.enclosing_names(*moved)):
            return moved
    return None


def _with_locations(text: str, mention: Mention, locations: Sequence[str]) -> str:
    """The text with a mention replaced by its checked locations."""
    before, after = text[: mention.start], text[mention.end :]
    marks = mention.marks
    written = ", ".join(f"{marks}{location}{marks[::-1].replace('<', '>')}" for location in locations)
    if mention.label:
        written = f"{mention.label} ({written})"
    elif mention.item_numbers and is_footnote(text, mention):
        written = f"{'' if before[-1:].isspace() or not before else ' '}({written})"
    # Digits and signs after the line number would change it.
    joins = (after[:1].isalnum() and after[:1].isascii()) or (
        after[:1] in ("_", "-", ":", "#", ".") and after[1:2].isalnum()
    )
    return f"{before}{written}{' ' if joins else ''}{after}"


def _claims_around(sentence: str, mentions: Sequence[Mention], number: int, block: str) -> list[Claim]:
    """The claims that a sentence may make of one mention: one must be supported. Empty without content."""
    before = sentence[mentions[number - 1].end if number else 0 : mentions[number].start]
    after = sentence[mentions[number].end : mentions[number + 1].start if number + 1 < len(mentions) else None]
    # With several mentions, a claim is the words before or after one, as in "X (a.py:1) and Y (b.py:2)".
    parts = [(before, after)] if len(mentions) == 1 else [(before, ""), ("", after)]
    return [claim for part in parts if (claim := read_claim(*part, block)).has_content]


def _outside(text: str, mentions: Sequence[Mention]) -> str:
    ends = [0, *(mention.end for mention in mentions)]
    starts = [*(mention.start for mention in mentions), len(text)]
    return " ".join(text[end:start] for end, start in zip(ends, starts, strict=True))


_CODE = re.compile(
    r"(?:^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)|\Z))|(?P<ticks>`+)[^`\n]+(?P=ticks)", re.M | re.S
)
_FILE_WORD = re.compile(
    r"`(?P<quoted>[\w./@+-]+\.\w+)`|(?<![\w/:.@])(?P<path>[\w.@+-]+(?:/[\w.@+-]+)*/[\w.@+-]+\.\w+)(?![\w/])"
)
