"""How long the tools take on a folder: each is called with definitions that are chosen by the hashes of their names.

Owns the choice of calls and the figures. Times are of whole calls, with the text of the answer; CPU times count on a
loaded machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ...errors import InvalidArgument
from ...memory.strategy import estimate_tokens
from ...server.agents.tools import answer_text, call_tool
from ...server.workspace.workspace import Workspace

N_NOTES = 50


@dataclass(frozen=True, slots=True)
class Timed:
    """One call. Milliseconds; `is_error` for a name with too many meanings and the like."""

    tool: str
    wall_ms: float
    cpu_ms: float
    n_tokens: int
    is_error: bool


def timed_calls(workspace: Workspace, n: int) -> Iterator[Timed]:
    """`n` calls of each tool; the first call of each tool is not counted, because it loads modules."""
    [index] = workspace.indexes().values()
    found = [(path, each) for path, file in index.graph.files.items() for each in file.definitions]
    found.sort(key=lambda item: sha256(f"{item[0]}:{item[1].qualified_name}".encode()).hexdigest())
    for number in range(N_NOTES):
        path, each = found[-number % len(found)]
        call_tool(workspace, "remember", {"text": f"{each.qualified_name} in {path}", "topic": each.name})
    for at, (path, each) in enumerate(found[: n + 1]):
        place = {"path": path, "line": each.header_line + 1}
        symbol = {"symbol": each.name, **place}
        for tool, arguments in (
            ("search", {"query": each.name}),
            ("search", {"query": index.graph.files[path].path.replace("/", " ").rpartition(".")[0]}),
            ("definition", {**symbol, "code": True}),
            ("callers", symbol),
            ("callees", symbol),
            ("references", symbol),
            ("related", place),
            ("impact", symbol),
            ("outline", {"path": path}),
            ("recall", {"question": each.name}),
        ):
            timed = _timed(workspace, tool, arguments)
            if at:
                yield timed


def figures_of(calls: list[Timed]) -> dict[str, dict[str, Any]]:
    """Percentiles by tool."""
    return {
        tool: _figures([call for call in calls if call.tool == tool]) for tool in dict.fromkeys(c.tool for c in calls)
    }


def _timed(workspace: Workspace, tool: str, arguments: Mapping[str, Any]) -> Timed:
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        text, is_error = answer_text(workspace, call_tool(workspace, tool, arguments)), False
    except InvalidArgument as error:
        text, is_error = str(error), True
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return Timed(tool, 1e3 * wall, 1e3 * cpu, estimate_tokens(text), is_error)


def _figures(calls: list[Timed]) -> dict[str, Any]:
    def percentile(values: list[float], share: float) -> float:
        return sorted(values)[int(share * (len(values) - 1))]

    wall, cpu = [call.wall_ms for call in calls], [call.cpu_ms for call in calls]
    return {
        "calls": len(calls),
        "errors": sum(call.is_error for call in calls),
        "tokens": sum(call.n_tokens for call in calls) / len(calls),
        "ms p50": percentile(wall, 0.5),
        "ms p95": percentile(wall, 0.95),
        "cpu ms p50": percentile(cpu, 0.5),
        "cpu ms p95": percentile(cpu, 0.95),
    }


def n_lines(workspace: Workspace) -> int:
    """The indexed lines of a workspace."""
    return sum(file.n_lines for index in workspace.indexes().values() for file in index.graph.files.values())
