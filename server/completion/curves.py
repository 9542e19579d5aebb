"""The figures of the calibration curves: power of the length, and knots. What they are for is in `confidence.py`.

Written by `weft bench completion --fit-confidence`.
"""

from __future__ import annotations

FITTED: dict[str, tuple[float, tuple[tuple[float, float], ...]]] = {
    "workspace": (
        0.0,
        (
            (0.0, 0.0),
            (0.0008, 0.0145),
            (0.0341, 0.0374),
            (0.0992, 0.0429),
            (0.1389, 0.0714),
            (0.1817, 0.1159),
            (0.2595, 0.2286),
            (0.352, 0.3768),
            (0.4167, 0.3857),
            (0.5367, 0.5971),
            (0.7712, 0.6357),
            (0.9047, 0.8116),
            (0.9593, 0.8857),
            (0.9867, 0.9),
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
    "workspace": "1393 lines of evaluate, fortuna, nerfstudio, vizier",
    "neural": "nothing yet: the model's own probability",
}
