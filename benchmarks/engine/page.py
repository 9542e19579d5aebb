"""Tables, targets and growth plots of `weft bench engine`, from the figures of its trees.

Owns what is shown and how: the sizes side by side, the targets with their results, the ratios to peers, the plots, and
the generated parts of docs/scale.md. Measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..plots import growth_plot, picture
from ..tables import markdown, number

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "scale.md"
PICTURES = ROOT / "docs" / "pictures"

Figures = Mapping[str, float]
Trees = Mapping[str, Figures]
"""By tree: its figures, as far as they were measured."""

UNSEEN, MILLION, FIVE, TEN = "unseen", "million", "five", "ten"
GROWTH = (UNSEEN, MILLION, FIVE, TEN)
"""The trees of the plots."""

_SIZES: Sequence[tuple[str, tuple[str, ...]]] = (
    ("lines", ("lines",)),
    ("files", ("files",)),
    ("cold index, s", ("cold_s",)),
    ("lines/s", ("lines_per_s",)),
    ("processor time until saved, s", ("cold_cpu_s",)),
    ("processor time per line, us", ("cpu_us_per_line",)),
    ("cold index until saved, s", ("saved_s",)),
    ("warm start: first answer, s", ("warm_answer_s",)),
    ("warm start: verified, s", ("verified_s",)),
    ("private MB after the cold index", ("private_mb",)),
    ("after a warm start", ("warm_private_mb",)),
    ("after queries and edits", ("query_private_mb",)),
    ("peak of all processes of the build", ("peak_private_mb",)),
    ("jump, p50 / p95 ms", ("jump_p50_ms", "jump_p95_ms")),
    ("typing, p50 / p95 ms", ("typing_p50_ms", "typing_p95_ms")),
    ("jump while the first index is built, p50 / p95 ms", ("during_p50_ms", "during_p95_ms")),
    ("the same jumps afterwards, p50 / p95 ms", ("during_quiet_p50_ms", "during_quiet_p95_ms")),
    ("first answer while the first index is built, s", ("during_answer_s",)),
    ("edit to retrievable, p50 / p95 ms", ("edit_p50_ms", "edit_p95_ms")),
    ("switch back of 3,000 files, s", ("switch_back_s",)),
    ("a second window with a shared server, private MB", ("shared_window_mb",)),
    ("a second window with a server of its own, private MB", ("own_window_mb",)),
    ("stored index, MB", ("indexes_mb",)),
    ("stored analyses, MB", ("analyses_mb",)),
)

_PEERS: Sequence[tuple[str, str]] = (
    ("universal-ctags, processor s", "ctags_cpu_s"),
    ("Weft's cold index / ctags, processor time per line", "ctags_ratio"),
    ("aider's map, processor s", "aider_cpu_s"),
    ("Weft's cold index / aider's map, processor time", "aider_ratio"),
    ("build of a word index from texts: Weft, s", "weft_build_s"),
    ("bm25s / Weft", "bm25s_build_ratio"),
    ("tantivy / Weft", "tantivy_build_ratio"),
    ("query of 20 lines, p50: Weft, ms", "weft_query_p50_ms"),
    ("bm25s / Weft", "bm25s_query_p50_ratio"),
    ("tantivy / Weft", "tantivy_query_p50_ratio"),
    ("query of 20 lines, p95: Weft, ms", "weft_query_p95_ms"),
    ("bm25s / Weft", "bm25s_query_p95_ratio"),
    ("tantivy / Weft", "tantivy_query_p95_ratio"),
    ("update of a file, p50: Weft, ms", "weft_edit_p50_ms"),
    ("bm25s / Weft", "bm25s_edit_p50_ratio"),
    ("tantivy / Weft", "tantivy_edit_p50_ratio"),
)

_PICTURES = (
    (
        "scale-time",
        "Time of cold and warm start against lines, on logarithmic axes",
        "seconds",
        {
            "cold index": "cold_s",
            "processor time of it": "cold_cpu_s",
            "warm start, verified": "verified_s",
            "first answer after it": "warm_answer_s",
        },
    ),
    (
        "scale-memory",
        "Private memory and size on disk against lines, on logarithmic axes",
        "MB",
        {
            "peak of the build": "peak_private_mb",
            "after a cold index": "private_mb",
            "after a warm start": "warm_private_mb",
            "stored index": "indexes_mb",
        },
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    """An aim with its limit, and the result; None where it was not measured."""

    aim: str
    wanted: str
    result: float | None
    limit: float
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.result is None:
            return "not measured"
        met = self.result >= self.limit if self.at_least else self.result <= self.limit
        return "met" if met else "**missed**"


def targets(trees: Trees) -> list[Target]:
    """All targets, in the order of the table."""

    def figure(tree: str, *names: str) -> float | None:
        """The highest of some figures; None unless all were measured."""
        values = [trees.get(tree, {}).get(name) for name in names]
        return max((value for value in values if value is not None), default=None) if None not in values else None

    def highest(name: str) -> float | None:
        return max((figures[name] for figures in trees.values() if name in figures), default=None)

    per_line = [figure(tree, "cold_us_per_line") for tree in (UNSEEN, TEN)]
    growth = per_line[1] / per_line[0] if per_line[0] and per_line[1] else None
    private = ("private_mb", "warm_private_mb", "query_private_mb")
    found = [
        Target("cold index, 0.2 M unseen lines, lines/s", "100,000", figure(UNSEEN, "lines_per_s"), 1e5, at_least=True),
        Target("time per line at 10 M / at 0.2 M lines", "1.3", growth, 1.3),
        Target("private MB at 1 M lines, after cold, warm and queries", "300", figure(MILLION, *private), 300),
        Target("private MB at 10 M lines, after cold, warm and queries", "1,000", figure(TEN, *private), 1000),
        Target("first answer of a warm start at 10 M lines, s", "1", figure(TEN, "warm_answer_s"), 1),
    ]
    for tree, lines, limit in ((UNSEEN, "0.2 M", 15), (MILLION, "1 M", 15), (TEN, "10 M", 60)):
        found += [
            Target(f"{shown} at {lines} lines, p95 ms", f"{allowed}", figure(tree, f"{name}_p95_ms"), allowed)
            for shown, name, allowed in (
                ("jump", "jump", limit),
                ("typing", "typing", limit),
                ("jump while the first index is built", "during", 2 * limit),
            )
        ]
    return [
        *found,
        Target("edit to retrievable at every size, p95 ms", "30", highest("edit_p95_ms"), 30),
        Target("switch back of 3,000 files, s", "2", figure(MILLION, "switch_back_s"), 2),
        Target("a second window with a shared server, private MB", "50", highest("shared_window_mb"), 50),
        Target("a second window with a server of its own, private MB", "50", highest("own_window_mb"), 50),
    ]


def with_derived(figures: Figures) -> Figures:
    """The figures of a tree with those that follow from them: rates and ratios to peers."""
    found = dict(figures)

    def ratio(name: str, over: str, below: str, factor: float = 1.0) -> None:
        if figures.get(below) and over in figures:
            found[name] = factor * figures[over] / figures[below]

    ratio("lines_per_s", "lines", "cold_s")
    ratio("cold_us_per_line", "cold_s", "lines", 1e6)
    ratio("cpu_us_per_line", "cold_cpu_s", "lines", 1e6)
    ratio("aider_ratio", "cold_cpu_s", "aider_cpu_s")
    if figures.get("ctags_cpu_s") and "cpu_us_per_line" in found:
        found["ctags_ratio"] = found["cpu_us_per_line"] / (1e6 * figures["ctags_cpu_s"] / figures["ctags_lines"])
    for peer in ("bm25s", "tantivy"):
        for name in ("build_s", "query_p50_ms", "query_p95_ms", "edit_p50_ms"):
            ratio(f"{peer}_{name.rpartition('_')[0]}_ratio", f"{peer}_{name}", f"weft_{name}")
    return {key: round(value, 4) for key, value in found.items()}


def sizes_table(trees: Trees) -> str:
    """A column for each tree, and a row for each figure that one of them has."""
    rows = [
        [label, *(_shown(figures, keys) for figures in trees.values())]
        for label, keys in _SIZES
        if any(key in figures for key in keys for figures in trees.values())
    ]
    return markdown(["", *trees], rows)


def targets_table(trees: Trees) -> str:
    return markdown(
        ["", "wanted", "result", ""],
        [[target.aim, target.wanted, _number(target.result), target.verdict] for target in targets(trees)],
    )


def peers_table(trees: Trees) -> str:
    """The trees and the peers that were measured."""
    keys = [key for _, key in _PEERS]
    measured = {name: figures for name, figures in trees.items() if not figures.keys().isdisjoint(keys)}
    rows = [
        [label, *(_number(figures.get(key)) for figures in measured.values())]
        for label, key in _PEERS
        if any(key in figures for figures in measured.values())
    ]
    return markdown(["", *measured], rows) if rows else "No peer was measured."


def plots(trees: Trees) -> str:
    """The pictures, for docs/scale.md."""
    shown = [f"![{about}](pictures/{name})" for name, about, _ in pictures(trees)]
    return "\n\n".join(shown) or "No two sizes were measured."


GENERATED: Mapping[str, Callable[[Trees], str]] = {
    "sizes": sizes_table,
    "targets": targets_table,
    "peers": peers_table,
    "plots": plots,
}

_GENERATED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def with_tables(page: str, trees: Trees) -> str:
    """The page with its generated tables: `<!-- generated: NAME -->` names one of `GENERATED`. Small trees first."""
    ordered = dict(sorted(trees.items(), key=lambda tree: tree[1].get("lines", 0)))
    return _GENERATED.sub(lambda found: f"{found[1]}{GENERATED[found[2]](ordered)}\n{found[3]}", page)


def pictures(trees: Trees) -> Iterator[tuple[str, str, str]]:
    """Name, description and text of each SVG file; none without two sizes."""
    for name, about, beside, keys in _PICTURES:
        curves = {shown: _points(trees, key) for shown, key in keys.items()}
        drawn = {shown: points for shown, points in curves.items() if len(points) >= 2}
        if drawn:
            yield f"{name}.svg", about, picture(growth_plot(drawn, "million lines", beside))


def write_pages(trees: Trees) -> None:
    """Write the generated parts of docs/scale.md, and its pictures."""
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), trees), "utf-8")
    for name, _, text in pictures(trees):
        (PICTURES / name).write_text(text, "utf-8")


def _points(trees: Trees, key: str) -> list[tuple[float, float]]:
    """Million lines and the figure, for each tree of the plots that has it."""
    found = [trees[tree] for tree in GROWTH if key in trees.get(tree, {})]
    return [(figures["lines"] / 1e6, figures[key]) for figures in found]


def _shown(figures: Figures, keys: Sequence[str]) -> str:
    return " / ".join(_number(figures.get(key)) for key in keys)


def _number(value: float | None) -> str:
    """Three digits, but all of a whole number above a hundred."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else number(value, "{:.3g}")
