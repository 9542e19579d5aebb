"""Post-hoc attribution: supporting lines for the sentences of an answer without citations.

Small models write without citing. Each sentence that names or quotes code is compared with the evidence by the rule for
citations (`support.py`). Sentences of plain prose are skipped: their words match too easily.

Owns which lines support which sentence. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .sentence_boundaries import BoundaryFinder, fenced_code, starts_fence
from .sources import Sources
from .support import Claim, is_supported, matching_lines, read_claim, words_of
from .values import Citation, EvidenceSet

MOST_LINES = 8  # a name may occur at both ends of a long definition: only the lines from its first occurrence are cited


@dataclass(frozen=True, slots=True)
class Attribution:
    """A sentence and the lines that support it."""

    sentence: str
    citation: Citation


def attributed(text: str, evidence: EvidenceSet, sources: Sources) -> tuple[Attribution, ...]:
    """The best supporting lines of each sentence that the evidence supports; each location once, in order."""
    found: dict[str, Attribution] = {}
    for sentence in _sentences(text):
        claim = read_claim("", "", fenced_code(sentence, ())) if starts_fence(sentence) else read_claim(sentence, "")
        citation = _best_support(claim, evidence, sources) if claim.names or claim.quote else None
        if citation is not None:
            found.setdefault(citation.location, Attribution(" ".join(sentence.split()), citation))
    return tuple(found.values())


def _best_support(claim: Claim, evidence: EvidenceSet, sources: Sources) -> Citation | None:
    """The lines of the item that shares most words with a claim, the higher-ranked item on a tie."""
    best: Citation | None = None
    most = (0, 0)
    for item in evidence.items:
        source = sources.of(item)
        if source is None:
            continue
        lines = source.between(item.start_line, item.end_line)
        at = matching_lines(claim, lines)
        shared = len(claim.words & set(words_of("\n".join(lines)))), len(at)
        if at and shared > most and is_supported(claim, lines, (item.symbol,)):
            first, end = at[0], min(at[-1] + 1, at[0] + MOST_LINES)
            start_line = item.start_line + first
            cited = "\n".join(lines[first:end])
            best = Citation(item.path, start_line, start_line + end - first, cited, item.folder)
            most = shared
    return best


def _sentences(text: str) -> Iterator[str]:
    rest = text
    while rest:
        end = BoundaryFinder(lambda _: False).find(rest) or len(rest)
        if rest[:end].strip():
            yield rest[:end]
        rest = rest[end:]
