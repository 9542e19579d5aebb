"""Calibration of the confidence on recorded predictions, by family of languages and kind of place.

Owns the groups and the table. Knows no fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...server.completion.confidence import UNFITTED_MARGIN, fitted_model
from ...server.completion.evidence import FAMILIES
from ...server.completion.place import PLACES
from ..tables import markdown, number, percent
from .figures import expected_error
from .fit import sample_of
from .record import RecordedText

LEAST_TEXTS = 200
"""Parts of texts; the error of a smaller group is noise."""


def calibration_of(recorded: Mapping[str, Sequence[RecordedText]]) -> list[dict[str, Any]]:
    """For each family, for all and for each kind of place: the number of parts of texts, and the error."""
    found = []
    families = sorted({text.family for texts in recorded.values() for text in texts})
    for family in families:
        of_family = {
            repo: [text for text in texts if text.family == family]
            for repo, texts in recorded.items()
            if any(text.family == family for text in texts)
        }
        for place in ("all", *PLACES):
            chosen = {
                repo: [text for text in texts if place in ("all", text.place)] for repo, texts in of_family.items()
            }
            chosen = {repo: texts for repo, texts in chosen.items() if any(text.parts for text in texts)}
            if not chosen:
                continue
            rows, right, weights = sample_of(chosen)
            if len(right) < LEAST_TEXTS:
                continue
            shares = fitted_model().probabilities(rows)
            if family not in FAMILIES:
                shares = np.maximum(0.0, shares - UNFITTED_MARGIN)
            error = expected_error(shares, right, weights)
            found.append({"family": family, "place": place, "n": len(right), "error": error})
    return found


def calibration_table(errors: Sequence[Mapping[str, Any]]) -> str:
    """One row a family, one column a kind of place, in percent; "-" for a group that is too small."""
    by_family: dict[str, dict[str, float]] = {}
    sizes: dict[str, int] = {}
    for each in errors:
        by_family.setdefault(each["family"], {})[each["place"]] = each["error"]
        if each["place"] == "all":
            sizes[each["family"]] = each["n"]
    places = ("all", *PLACES)
    rows = [
        [family, number(sizes.get(family), "{:.0f}"), *(percent(of.get(place)) for place in places)]
        for family, of in by_family.items()
    ]
    return markdown(("family", "parts of texts", *places), rows)
