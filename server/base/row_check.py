"""Check of an analysis from another builder before it is used: shapes, types and bounds of all its values.

The text of the row must be the text of the file here, and tokens are made of it again, so that no completion writes
code that is in no file. What is left to trust are the facts (names, calls, imports) and words: wrong ones make
suggestions and rankings worse, and do nothing else.

Owns what a valid analysis is. Knows no part and no address.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegraph import FileGraph
from ...codegraph.file_graph import NODE_BYTES, NODE_END, NODE_OPEN, NODE_PARENT, NODE_START
from ...codegraph.modules import manifest_style
from ...errors import ControlFlow
from ...languages import language_of
from ...llm.workspace_model import tokenise_document
from ...retrieval import FileFragments
from ...retrieval.fragments import Slicing, count_lines, normalise
from ...retrieval.terms import encode
from ..workspace.analysis import Analysis
from ..workspace.part import Row, decoded

MAX_NAME_CHARACTERS = 20_000
"""A longer name, path or expression of a row is not used: the file is analysed here."""

MAX_DEPTH = 10_000

_MOST_COUNTED = int(np.iinfo(np.uint16).max)


class UnusableRow(ControlFlow):
    """The row is not the analysis of this text, as far as a check can tell."""


def checked(row: Row, path: str, text: str) -> Analysis:
    """The analysis of `text` at `path` that a row contains, without a record. Raises UnusableRow."""
    if manifest_style(path):
        raise UnusableRow("manifests are read here")
    try:
        analysis = decoded(row, path)
        _check_graph(analysis.graph, path, text)
        _check_fragments(analysis.fragments, text)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise UnusableRow("it has not the shape of an analysis") from error
    return Analysis(None, analysis.graph, analysis.fragments, tokenise_document(path, text))


def _check_graph(graph: FileGraph, path: str, text: str) -> None:
    n_lines = graph.n_lines
    _require(graph.language == language_of(path).name, "the language")
    _require(_is_int(n_lines, 0, len(text) + 1) and _is_int(graph.n_bytes, 0, 4 * len(text)), "the size")
    _require(graph.manifest == "" and _is_name(graph.package), "the package")
    _require(all(map(_is_name, graph.problems)), "a problem")
    _check_nodes(graph.nodes, n_lines, graph.n_bytes)
    definitions, imports, bindings = _records(graph, "_outline", 3)
    _require(all(_is_definition(each, at, graph) for at, each in enumerate(_lists(definitions, 11))), "a definition")
    n_definitions, limits = len(definitions), (n_lines, graph.n_nodes)
    _require(all(_is_import(each, n_definitions, n_lines) for each in _lists(imports, 6)), "an import")
    _require(all(_is_binding(each, n_definitions, n_lines) for each in _lists(bindings, 5)), "a binding")
    calls = _records(graph, "_calls")
    _require(all(_is_call(each, n_definitions, limits) for each in _lists(calls, 5)), "a call")


def _check_nodes(nodes: NDArray[np.int32], n_lines: int, n_bytes: int) -> None:
    _require(nodes.shape[1] > 0, "the nodes")
    parents, starts, ends = nodes[NODE_PARENT], nodes[NODE_START], nodes[NODE_END]
    _require(parents[0] == -1 and bool(np.all(parents[1:] >= 0)), "a parent")
    _require(bool(np.all(parents[1:] < np.arange(1, nodes.shape[1]))), "a parent")
    _require(bool(np.all((starts >= 0) & (starts <= ends) & (ends <= n_lines))), "the lines of a node")
    _require(bool(np.all((nodes[NODE_BYTES] >= 0) & (nodes[NODE_BYTES] <= n_bytes))), "the length of a node")
    _require(bool(np.all((nodes[NODE_OPEN] == 0) | (nodes[NODE_OPEN] == 1))), "an open node")


def _records(graph: FileGraph, packed: str, n_lists: int | None = None) -> Any:
    """The JSON of packed facts, as lists."""
    records = json.loads(bytes(getattr(graph, packed)).decode("utf-8", "surrogatepass"))
    _require(isinstance(records, list) and n_lists in (None, len(records)), "the facts")
    return records


def _lists(records: Any, n_values: int) -> Iterable[list[Any]]:
    _require(isinstance(records, list), "the facts")
    for record in records:
        _require(isinstance(record, list) and len(record) == n_values, "the facts")
        yield record


def _is_definition(record: Sequence[Any], number: int, graph: FileGraph) -> bool:
    name, qualified_name, kind, node, depth, start_line, header_line, end_line, parent, bases, returns = record
    return (
        all(map(_is_name, (name, qualified_name, kind, returns)))
        and _is_int(node, 0, graph.n_nodes - 1)
        and _is_int(depth, 0, MAX_DEPTH)
        and all(_is_int(line, 0, graph.n_lines) for line in (start_line, header_line, end_line))
        and start_line <= header_line <= end_line
        and _is_int(parent, -1, number - 1)
        and isinstance(bases, list)
        and all(map(_is_name, bases))
    )


def _is_import(record: Sequence[Any], n_definitions: int, n_lines: int) -> bool:
    local_name, module, level, name, line, scope = record
    return (
        all(map(_is_name, (local_name, module, name)))
        and _is_int(level, 0, MAX_DEPTH)
        and _is_int(line, 0, n_lines)
        and _is_int(scope, -1, n_definitions - 1)
    )


def _is_binding(record: Sequence[Any], n_definitions: int, n_lines: int) -> bool:
    scope, name, how, value, line = record
    return (
        all(map(_is_name, (name, how, value)))
        and _is_int(line, 0, n_lines)
        and _is_int(scope, -1, n_definitions - 1)
    )  # fmt: skip


def _is_call(record: Sequence[Any], n_definitions: int, limits: tuple[int, int]) -> bool:
    callee, node, depth, line, scope = record
    n_lines, n_nodes = limits
    return (
        _is_name(callee)
        and _is_int(node, 0, n_nodes - 1)
        and _is_int(depth, 0, MAX_DEPTH)
        and _is_int(line, 0, n_lines)
        and _is_int(scope, -1, n_definitions - 1)
    )


def _check_fragments(fragments: FileFragments, text: str) -> None:
    expected = encode(normalise(text))
    _require(fragments.text == expected, "the text")
    starts, ends = Slicing().windows(count_lines(expected))
    _require(np.array_equal(fragments.starts, starts) and np.array_equal(fragments.ends, ends), "the windows")
    n, n_terms = len(starts), len(fragments.keys)
    per_fragment = (fragments.hashes, fragments.lengths, fragments.n_distinct, fragments.vectors)
    _require(all(len(array) == n for array in per_fragment), "the fragments")
    indptr, windows, counts = fragments.indptr, fragments.windows.astype(np.int64), fragments.counts
    _require(len(indptr) == n_terms + 1 and indptr[0] == 0 and indptr[-1] == len(windows) == len(counts), "the words")
    _require(len(np.unique(fragments.keys)) == n_terms and bool(np.all(np.diff(indptr) > 0)), "the words")
    _require(bool(np.all((windows >= 0) & (windows < n))) and bool(np.all(counts > 0)), "the postings")
    codes = np.repeat(np.arange(n_terms), np.diff(indptr)) * n + windows
    _require(bool(np.all(np.diff(codes) > 0)), "the postings")
    _require(np.array_equal(fragments.n_distinct, np.bincount(windows, minlength=n)[:n]), "the number of words")
    counted = np.bincount(windows, counts, n)[:n]
    is_exact = not np.any(counts == _MOST_COUNTED)
    _require(bool(np.all((fragments.lengths == counted) if is_exact else (fragments.lengths >= counted))), "the words")
    _require(bool(np.all(fragments.lengths <= len(expected))), "the words")


def _is_int(value: object, low: int, high: int) -> bool:
    return type(value) is int and low <= value <= high


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_NAME_CHARACTERS


def _require(is_valid: bool, what: str) -> None:
    if not is_valid:
        raise UnusableRow(f"{what} of the row cannot be right")
