"""Lines for an answer that names none: for each of its sentences, those of the evidence that hold what it says.

Small models write without citing. Their sentences are held against the evidence by the rule for citations
(`support.py`), and only those that name something of the code or quote it: words of prose are found too easily.

Owns which lines stand for which sentence. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .sources import Sources
from .support import Claim, holds, lines_with, read_claim, words_of
from .units import begins_block, code_of, unit_end
from .values import Case, Citation

MOST_LINES = 8
"""A name may stand at both ends of a long definition; where it stands first is what is cited."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """A sentence, and lines that hold what it says."""

    sentence: str
    citation: Citation


def attributed(text: str, case: Case, sources: Sources) -> tuple[Attribution, ...]:
    """For each sentence that any evidence holds, the lines that hold most of it; each place once, in order."""
    found: dict[str, Attribution] = {}
    for sentence in _sentences(text):
        claim = read_claim("", "", code_of(sentence, ())) if begins_block(sentence) else read_claim(sentence, "")
        citation = _held_by(claim, case, sources) if claim.names or claim.quote else None
        if citation is not None:
            found.setdefault(citation.place, Attribution(" ".join(sentence.split()), citation))
    return tuple(found.values())


def listed(attributions: Sequence[Attribution]) -> list[str]:
    """A line for each, as a reply ends with them."""
    return [f"- {each.citation.place}: {each.sentence}" for each in attributions]


def _held_by(claim: Claim, case: Case, sources: Sources) -> Citation | None:
    """The lines of the exhibit that shares most with a claim, the better exhibit where several do."""
    best: Citation | None = None
    most = (0, 0)
    for exhibit in case.exhibits:
        source = sources.of(exhibit)
        if source is None:
            continue
        lines = source.between(exhibit.start_line, exhibit.end_line)
        at = lines_with(claim, lines)
        shared = len(claim.words & set(words_of("\n".join(lines)))), len(at)
        if at and shared > most and holds(claim, lines, (exhibit.symbol,)):
            first, end = at[0], min(at[-1] + 1, at[0] + MOST_LINES)
            start_line = exhibit.start_line + first
            cited = "\n".join(lines[first:end])
            best = Citation(exhibit.path, start_line, start_line + end - first, cited, exhibit.folder)
            most = shared
    return best


def _sentences(text: str) -> Iterator[str]:
    rest = text
    while rest:
        end = unit_end(rest, lambda _: False) or len(rest)
        if rest[:end].strip():
            yield rest[:end]
        rest = rest[end:]
