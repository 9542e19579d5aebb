"""The figures of the calibration curves: power of the length, and knots. What they are for is in `confidence.py`.

Written by `weft bench completion --fit-confidence`.
"""

from __future__ import annotations

FITTED: dict[str, tuple[float, tuple[tuple[float, float], ...]]] = {
    "workspace": (
        0.0,
        (
            (0.0, 0.0),
            (0.0121, 0.0),
            (0.0457, 0.0153),
            (0.0783, 0.0154),
            (0.1224, 0.0458),
            (0.2024, 0.1308),
            (0.3216, 0.1832),
            (0.414, 0.3231),
            (0.4747, 0.3692),
            (0.5507, 0.4242),
            (0.643, 0.5231),
            (0.7683, 0.6565),
            (0.8693, 0.6769),
            (0.9533, 0.9542),
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
    "workspace": "1306 lines of evaluate, fortuna, nerfstudio, vizier",
    "neural": "nothing yet: the model's own probability",
}
