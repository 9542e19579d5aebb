"""How sure is it that what was found answers the question? The gate of "not found in this repository".

Owns the curve and its threshold. Knows the findings of a search and nothing of their texts.
"""

from __future__ import annotations

from ...retrieval.questions import Found

FOUND_ABOVE = 0.5
"""Below this the answer is "not found"."""


def certainty(found: Found) -> float:
    """0 to 1."""
    total = sum(found.idf)
    if not found.units or not total:
        return 0.0
    best = max(
        sum(idf * covered for idf, covered in zip(found.idf, unit.covered, strict=True)) for unit in found.units[:5]
    )
    return best / total
