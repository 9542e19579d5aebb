"""Tables and JSON figures of a run on a real chat model: recall, losses and what was left out.

A question is direct or bridged, and its fact lies in the compressed part of the text or in the open window, which every
method attends to in full. Intervals resample questions. Owns the layout. Needs no model, only the `results.json` that
`real-train` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import UserError
from ..bootstrap import difference, interval, mean
from ..tables import markdown, number, signed, with_interval

Results = Mapping[str, Any]
Cell = Mapping[str, Any]
"""The values of one method, stage, ratio and length, in the order of the questions."""

Holds = Callable[[Mapping[str, Any]], bool]
"""Whether a question belongs to a group."""


def _is_compressed(asked: Mapping[str, Any]) -> bool:
    return bool(asked["compressed"])


GROUPS: Mapping[str, Holds] = {
    "compressed, direct": lambda asked: asked["compressed"] and not asked["bridged"],
    "compressed, bridged": lambda asked: asked["compressed"] and asked["bridged"],
    "open window": lambda asked: not asked["compressed"],
}

_NAMES = {"kv": "full attention", "bm25": "BM25 by the question"}


def read_results(path: Path) -> Results:
    """Raises UserError for a file of another form, and OSError."""
    try:
        found = json.loads(path.read_text("utf-8"))
        wanted = ("machine", "parts", "left_out", "logs", "questions", "answers", "losses")
        return {name: found[name] for name in wanted}
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path} is no result of `real-train`: {error}. Name its `results.json`.") from error


def real_tables(results: Results, before: Results | None = None) -> str:
    """Markdown. With `before`, an earlier run on the same questions, also the differences to its recall."""
    parts = ["Learning, nats per trained token.", _learning(results)]
    if results["answers"]:
        for name, holds in GROUPS.items():
            parts += [f"Recall of facts, {name}, % [95 % interval].", _recall(results, holds)]
        parts += ["Nats per token of the right answer, facts in the compressed part.", _nats(results)]
        parts += ["The same at the smallest ratio less those at the largest [95 % interval].", _by_ratio(results)]
        for method, name in _NAMES.items():
            changed = _differences(results, results, {"method": method, "stage": "base", "ratio": None}, _is_compressed)
            parts += [f"Recall of facts in the compressed part, difference to {name}, points.", changed]
    if before is not None:
        changed = _differences(results, before, {}, lambda asked: True)
        parts += ["Recall of all facts, difference to the run before, points.", changed]
    if results["losses"]:
        parts += ["Held-out next-token loss, nats; later windows are those after the first.", _losses(results)]
    if results["left_out"]:
        parts.append(f"Left out, because the time ended: {', '.join(results['left_out'])}.")
    return "\n\n".join(parts)


def real_figures(results: Results) -> dict[str, Any]:
    """For machines: recall by method and length in each group; losses, stages, and what was left out."""
    recall: dict[str, dict[str, dict[str, Any]]] = {}
    for cell in results["answers"]:
        of = recall.setdefault(_title(cell), {}).setdefault(str(cell["length"]), {})
        for name, holds in GROUPS.items():
            values = _values(results, cell, "right", holds)
            of[name] = {"n": len(values), "right": int(sum(values))}
    return {
        "machine": results["machine"],
        "recall": recall,
        "losses": {_title(of): of["loss"] for of in results["losses"]},
        "stages": {
            of["part"]: {name: of[name] for name in ("step", "tokens", "train_seconds")} for of in _stages(results)
        },
        "left_out": results["left_out"],
    }


def _stages(results: Results) -> list[Mapping[str, Any]]:
    return [part for part in results["parts"] if "train_seconds" in part]


def _learning(results: Results) -> str:
    """The first, the middle and the last logged loss of each stage, each a mean since the one before."""
    lines = []
    for stage in _stages(results):
        log = [line for line in results["logs"].get(stage["part"], ()) if "loss" in line]
        shown = [log[0], log[len(log) // 2], log[-1]] if log else []
        losses = [f"{line['loss']:.3f} (step {line['step']})" for line in shown] or ["-"] * 3
        lines.append([stage["part"], f"{stage['step']}", f"{stage['tokens']:,}", f"{stage['train_seconds']}", *losses])
    return markdown(("stage", "steps", "tokens", "seconds", "first", "middle", "last"), lines)


def _title(of: Cell) -> str:
    known = str(of["method"] if of["method"] != "beacon" else of["stage"])
    name = _NAMES.get(known, known)
    return name if of["ratio"] is None else f"{name}, ratio {of['ratio']}"


def _values(results: Results, cell: Cell, figure: str, holds: Holds) -> list[float]:
    asked = results["questions"][str(cell["length"])]
    return [float(value) for value, each in zip(cell[figure], asked, strict=True) if holds(each)]


def _recall(results: Results, holds: Holds) -> str:
    return _by_length(
        results,
        results["answers"],
        lambda cell: (
            with_interval(interval({"": values})) if (values := _values(results, cell, "right", holds)) else "-"
        ),
        lambda length: f" (n {sum(map(holds, results['questions'][str(length)]))})",
    )


def _nats(results: Results) -> str:
    return _by_length(
        results,
        results["answers"],
        lambda cell: number(mean(_values(results, cell, "nats", _is_compressed)), "{:.2f}"),
    )


def _by_ratio(results: Results) -> str:
    """A memory of more tokens that says no more about the values than one of few makes no difference."""
    of_memory = [cell for cell in results["answers"] if cell["method"] == "beacon"]
    last = [cell for cell in of_memory if cell["stage"] == of_memory[0]["stage"]]  # the last stage is measured first
    cells = {(cell["length"], cell["ratio"]): cell for cell in last}
    lines = []
    for length in dict.fromkeys(length for length, _ in cells):
        ratios = [ratio for of, ratio in cells if of == length]
        ends = [cells[length, ratio] for ratio in (min(ratios), max(ratios))]
        shown = [f"{length:,}", f"{ends[0]['ratio']} - {ends[1]['ratio']}"]
        for holds in (_is_compressed, GROUPS["open window"]):
            first, second = (_values(results, cell, "nats", holds) for cell in ends)
            low, middle, high = difference({"": first}, {"": second})
            shown.append(f"{middle:+.2f} [{low:+.2f}, {high:+.2f}]" if first else "-")
        lines.append(shown)
    return markdown(("tokens", "ratios", "compressed part", "open window"), lines)


def _differences(results: Results, others: Results, other: Mapping[str, Any], holds: Holds) -> str:
    """Of the memory to the cell of `others` at the same length, with the same names except `other`, by question."""
    keys = ("method", "stage", "ratio", "length")
    found = {tuple(cell[key] for key in keys): cell for cell in others["answers"]}

    def changed(cell: Cell) -> str:
        paired = found.get(tuple({**cell, **other}[key] for key in keys))
        length = str(cell["length"])
        if paired is None or results["questions"][length] != others["questions"][length]:
            return "-"
        of = (_values(results, cell, "right", holds), _values(others, paired, "right", holds))
        return signed(difference({"": of[0]}, {"": of[1]}))

    return _by_length(results, [cell for cell in results["answers"] if cell["method"] == "beacon"], changed)


def _by_length(
    results: Results, cells: Sequence[Cell], shown: Callable[[Cell], str], about: Callable[[int], str] = lambda _: ""
) -> str:
    """A line for each method, stage and ratio, and a column for each length."""
    lengths = sorted({cell["length"] for cell in results["answers"]})
    by = {(_title(cell), cell["length"]): cell for cell in cells}
    lines = [
        [title, *(shown(by[title, length]) if (title, length) in by else "-" for length in lengths)]
        for title in dict.fromkeys(title for title, _ in by)
    ]
    return markdown(("", *(f"{length:,}{about(length)}" for length in lengths)), lines)


def _losses(results: Results) -> str:
    """Windows are apart for a memory alone: without one every window is a first one."""
    lines = []
    for of in results["losses"]:
        by_window = ["-", "-"]
        if of["ratio"] is not None:
            nats, labels = of["nats"], of["labels"]
            by_window = [f"{nats[0] / labels[0]:.3f}", f"{sum(nats[1:]) / max(1, sum(labels[1:])):.3f}"]
        lines.append([_title(of), f"{of['loss']:.3f}", *by_window])
    return markdown(("", "all windows", "first", "later"), lines)
