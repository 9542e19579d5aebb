"""Edge-case values for fuzzing: every JSON type at its limits, invalid identifiers, invalid messages."""

from __future__ import annotations

from typing import Any

NASTY_STRINGS: tuple[str, ...] = (
    *("", " ", "\0", "\ud800", "a\udfff.py", "\u202e\u2066", "\x1b[31m", "x" * 100_000),
    *("%", "%zz%00", "../../../../etc/passwd", "file://host/share", "file:///nonexistent/%00/x.py"),
    *("untitled:", "http://[::1", "__class__", "\n" * 500, "é" * 300, "😀" * 300, "def f():\n\treturn (\n"),
    *("'; DROP TABLE turns; --", '"*', "NaN", "/where", "/explain \ud800"),
)

NASTY_NUMBERS: tuple[float | int, ...] = (
    *(0, -1, 1, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63, 2**64, 10**40, -(10**40)),
    *(0.5, -0.0, 1e308, 5e-324, float("nan"), float("inf")),
)

NASTY_VALUES: tuple[Any, ...] = (
    *NASTY_STRINGS,
    *NASTY_NUMBERS,
    *(None, True, False, [], {}, [[]], [None], {"": None}, {"id": []}, [[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]),
    *({"class": 1, "def": {"_x": 2}, "a b": []}, [0] * 1000, {str(number): number for number in range(200)}),
)

NASTY_IDS: tuple[Any, ...] = (
    *(None, True, False, [], {}, [1], {"id": 1}),
    *(0, -1, 0.5, 1.0, 1e300, 2**31, 2**64, 10**100),
    *("", "1", "\ud800", "\0", "x" * 5_000),
)
"""Identifiers of requests: JSON-RPC allows strings, numbers and, discouraged, null."""

NO_MESSAGES: tuple[bytes, ...] = (
    *(b"[]", b"null", b"5", b'"x"', b"{", b"", b"\xff\xfe", b"[" * 20_000, b'{"a":' * 5_000, b"NaN", b"[{}]"),
    *(b"1" * 5_000, b'{"id": 1e999, "method": 5}'),
)
"""Bodies that are not JSON objects."""
