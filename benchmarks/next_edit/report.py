"""Tables of next edits.

Owns their layout. Knows no replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tables import markdown, number, percent
from .kinds import KINDS

SHARES = ("place@1", "place@3", "exact@1", "exact@3")

Figures = Mapping[str, Any]


def tables(by_system: Mapping[str, Figures]) -> str:
    """The tables of one choice of repositories and one order: requests, hunks by kind, offers by kind."""
    parts = [_requests(by_system), _hunks(by_system)]
    for name, figures in by_system.items():
        if name == "weft":
            parts += [f"Offers of {name}", _offers("kind", figures["offers"])]
            parts += ["By confidence, from", _offers("confidence", figures["confidence"])]
    return "\n\n".join(parts)


def by_repository(figures: Mapping[str, Figures]) -> str:
    """One row a repository: the hunks that follow from an edit, and the offers."""
    rows = []
    for repo, each in figures.items():
        known, offers = each["kinds"]["knowable"], each["offers"]["all"]
        cells = [number(each["commits"], "{:.0f}"), number(known["n"], "{:.0f}"), *(percent(known[s]) for s in SHARES)]
        rows.append([repo, *cells, number(offers["per request"]), number(offers["wrong for each right"])])
    head = ("repository", "commits", "hunks", *SHARES, "offers a request", "wrong for each right")
    return markdown(head, rows)


def _requests(by_system: Mapping[str, Figures]) -> str:
    shares = (*SHARES, "other file@1", "other file@3")
    rows = []
    for name, figures in by_system.items():
        asked, offers = figures["requests"], figures["offers"]["all"]
        has_places = offers["right"] > 0
        cells = [number(asked["n"], "{:.0f}")]
        cells += [percent(asked[share]) if has_places or "file" in share else "-" for share in shares]
        cells += [number(offers["per request"])]
        for share in ("wrong for each right", "distinct wrong for each right"):
            cells.append(number(offers[share], "{:.2f}"))
        rows.append([name, *cells, number(asked["ms p50"]), number(asked["ms p95"]), number(asked["cpu ms p95"])])
    head = ("after a hunk", "requests", *shares, "offers", "wrong for each right", "the same, distinct")
    return markdown((*head, "p50 ms", "p95 ms", "p95 CPU ms"), rows)


def _hunks(by_system: Mapping[str, Figures]) -> str:
    names = [name for name, figures in by_system.items() if figures["offers"]["all"]["right"]]
    rows = []
    for kind in (*KINDS, "knowable", "all"):
        n = next(iter(by_system.values()))["kinds"][kind]["n"]
        shares = (percent(by_system[name]["kinds"][kind][share]) for name in names for share in SHARES)
        rows.append([kind, number(n, "{:.0f}"), *shares])
    return markdown(("hunks", "n", *(f"{name} {share}" for name in names for share in SHARES)), rows)


def _offers(title: str, figures: Figures) -> str:
    rows = []
    for kind, each in figures.items():
        counts = (number(each[name], "{:.0f}") for name in ("n", "right", "exact", "distinct", "distinct right"))
        ratios = (number(each[name], "{:.2f}") for name in ("wrong for each right", "distinct wrong for each right"))
        rows.append([kind, *counts, *ratios])
    head = (title, "offers", "right", "exact", "distinct", "distinct right")
    return markdown((*head, "wrong for each right", "the same, distinct"), rows)
