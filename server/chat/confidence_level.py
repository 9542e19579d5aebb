"""The level of confidence of an answer, and what its evidence lacks.

Owns the wording of what is missing. The thresholds stand with the fitted curves in `answerability`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .answerability import FOUND_ABOVE, SURE_ABOVE
from .values import ConfidenceLevel, EvidenceItem, EvidenceSet

N_MISSING = 5  # the number of missing words that are named


def confidence_level(evidence: EvidenceSet, found_above: float = FOUND_ABOVE) -> ConfidenceLevel:
    """The level of an answer with this evidence."""
    if evidence.confidence < found_above:
        return "not found"
    return "sure" if evidence.probability_right >= SURE_ABOVE else "perhaps"


def word_patterns(words: Iterable[str]) -> list[re.Pattern[str]]:
    """Patterns of words, which match their other forms too."""
    return [re.compile(re.escape(word[: max(4, len(word) - 3)]), re.IGNORECASE) for word in words]


def what_is_missing(evidence: EvidenceSet, shown: Sequence[EvidenceItem]) -> str:
    """A sentence about the search terms that no file or no single shown item has; "" if an item has all of them."""
    absent = [f"“{word}”" for word in evidence.missing_terms[:N_MISSING]]
    if absent:
        return f"{_listed(absent)} {'occurs' if len(absent) == 1 else 'occur'} in no file."
    patterns = word_patterns(evidence.search_terms)
    texts = [f"{item.path} {item.symbol} {item.text}" for item in shown]
    if len(patterns) < 2 or any(all(word.search(text) for word in patterns) for text in texts):
        return ""
    unit = "section" if shown and all(item.kind == "document" for item in shown) else "definition"
    terms = ", ".join(f"“{word}”" for word in evidence.search_terms[:N_MISSING])
    return f"No single {unit} has all of: {terms}."


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
