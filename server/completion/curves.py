"""The figures of the calibration curves: power of the length, and knots. What they are for is in `confidence.py`.

Written by `weft bench completion --fit-confidence`.
"""

from __future__ import annotations

FITTED: dict[str, tuple[float, tuple[tuple[float, float], ...]]] = {
    "workspace": (
        0.0,
        (
            (0.0, 0.0),
            (1.0, 1.0),
        ),
    ),
    "neural": (
        0.0,
        (
            (0.0, 0.0),
            (1.0, 1.0),
        ),
    ),
}

MEASURED_ON: dict[str, str] = {
    "workspace": "nothing yet: the model's own probability",
    "neural": "nothing yet: the model's own probability",
}
