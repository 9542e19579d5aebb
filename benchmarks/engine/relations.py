"""`python -m weft.benchmarks.engine.relations`: relation strengths against exact shortest paths, and their speed.

Owns two reports. Fidelity: on packages small enough for the exact matrix (Eq. 8 by scipy's Dijkstra over the graph of
`reference_relations`), how many of the ten best fragments of BM25 + 0.5 * environment agree. Speed: on one tree, what
the engine takes, and the same strengths by networkx and by scipy, as ratios. Single thread.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...codegraph import CodeGraph, parse_file
from ...codegraph.cover import Spans
from ...codegraph.graph_arrays import GraphArrays, IdTable
from ...codegraph.relations import Relations
from ...codegraph.weights import Weights
from ...retrieval.fragments import lines_between, slice_file
from ...retrieval.inverted_index import InvertedIndex
from ...retrieval.terms import count_terms
from ..command import Report, command_parser, run_command
from ..repoeval.archives import PINNED, checkout
from ..tables import markdown
from .lexical import read_texts
from .reference_relations import ExactGraph, environment
from .timing import percentiles, timed
from .trees import TREES, tree

PACKAGES = (
    ("awslabs_fortuna", ""),
    ("nerfstudio-project_nerfstudio", "nerfstudio"),
    ("google_vizier", "vizier/_src/algorithms"),
)
"""Repositories and a folder in each, 11 to 20 thousand lines."""

N_QUERIES, N_CURSORS, N_EDITS = 60, 200, 60
ALPHA, TOP = 0.5, 10

Floats = NDArray[np.float64]


class IndexedTexts:
    """Texts with their graph, words and fragments."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts
        self.parts = [slice_file(path, text) for path, text in texts.items()]
        self.graph = CodeGraph.build([parse_file(path, text) for path, text in texts.items()])
        self.lexical = InvertedIndex.build(self.parts)
        self.spans = {
            part.path: Spans(self.lexical.ids(part.path).start, part.starts, part.ends) for part in self.parts
        }
        self.n_lines = sum(file.n_lines for file in self.graph.files.values())

    def cursors(self, n: int) -> list[tuple[str, int]]:
        """Lines below a file's first 20, spread evenly over all lines; always the same."""
        lines = [(part.path, line) for part in self.parts for line in range(20, int(max(part.ends, default=0)))]
        return random.Random(0).sample(lines, n)

    def scores(self, path: str, line: int) -> Floats:
        """BM25 of all fragments for the 20 lines before one."""
        text = next(part.text for part in self.parts if part.path == path)
        return np.asarray(self.lexical.bm25(count_terms(lines_between(text, line - 20, line))))


# Fidelity


def fidelity(repository: IndexedTexts) -> dict[str, float]:
    """Mean share of the exact top ten that others have too."""
    exact = exact_matrix(repository)
    relations = Relations.build(repository.graph, repository.spans)
    found: dict[str, list[float]] = {"words alone": [], "without calls": [], "engine": [], "engine, all rows": []}
    for path, line in repository.cursors(N_QUERIES):
        scores = repository.scores(path, line)
        wanted = _best(scores + ALPHA * environment(exact, scores, include_self=False))
        environments = {
            "words alone": np.zeros(len(scores)),
            "without calls": relations.environment(scores, n_call_rows=0),
            "engine": relations.environment(scores),
            "engine, all rows": relations.environment(scores, n_call_rows=None),
        }
        for name, its in environments.items():
            found[name].append(len(wanted & _best(scores + ALPHA * its)) / TOP)
    return {name: statistics.mean(shares) for name, shares in found.items()}


def exact_matrix(repository: IndexedTexts) -> Floats:
    """Eq. 8 for all pairs of fragments: A D A^T, with D by Dijkstra from every node that some fragment covers.

    On the literal graph of `reference_relations`: all named nodes, none contracted.
    """
    import networkx
    from scipy.sparse import csr_matrix

    exact = ExactGraph.build(repository.graph, repository.texts)
    numbers = {key: i for i, key in enumerate(exact.graph)}
    # An edge of cost 0 would count as none.
    costs = networkx.to_scipy_sparse_array(exact.graph, weight="cost", format="csr")
    connected = networkx.to_scipy_sparse_array(exact.graph, weight=None, format="csr")
    graph = csr_matrix(costs + 1e-13 * connected)
    rows, columns, shares = [], [], []
    for path, spans in repository.spans.items():
        for i, (start, end) in enumerate(zip(spans.starts.tolist(), spans.ends.tolist(), strict=True), spans.first_id):
            nodes = exact.cover(path, start, end)
            total = sum(length for _, length in nodes)
            rows += [i] * len(nodes)
            columns += [numbers[key] for key, _ in nodes]
            shares += [length / total for _, length in nodes]
    n_ids = repository.lexical.n_ids
    live = _without_dead_ends(graph, np.unique(columns))
    graph, cover = graph[live][:, live], csr_matrix((shares, (rows, columns)), shape=(n_ids, len(numbers)))[:, live]
    sources = np.unique(cover.indices)
    cover = cover[:, sources]
    matrix = np.zeros((n_ids, n_ids))
    for start in range(0, len(sources), 400):
        part = slice(start, start + 400)
        matrix += (cover[:, part] @ scipy_strengths(graph, sources[part])[:, sources]) @ cover.T
    return matrix


def _without_dead_ends(graph: Any, used: NDArray[np.integer]) -> NDArray[np.integer]:
    """The nodes that are left when nodes with one neighbour go, again and again, unless they are used."""
    live = np.arange(graph.shape[0])
    while True:
        degree = np.diff(graph[live][:, live].indptr)
        stay = (degree > 1) | np.isin(live, used)
        if stay.all():
            return live
        live = live[stay]


def scipy_graph(repository: IndexedTexts) -> tuple[GraphArrays, Any]:
    """The graph of one arrays as a sparse matrix of -ln(weight): its nodes, then the directories."""
    from scipy.sparse import csr_matrix

    paths, weights = list(repository.spans), Weights()
    arrays = GraphArrays.build(repository.graph, paths, list(repository.spans.values()), IdTable(), weights)
    inner = np.flatnonzero(arrays.parent >= 0)
    home = dict(zip(arrays.definitions.definition.tolist(), arrays.definitions.at.node.tolist(), strict=True))
    edges = list(zip(inner.tolist(), arrays.parent[inner].tolist(), arrays.edge[inner].tolist(), strict=True))
    calls = zip(arrays.calls.at.node.tolist(), arrays.calls.definition.tolist(), strict=True)
    edges += [(node, home[definition], weights.call) for node, definition in calls]
    directories: dict[str, int] = {}
    for path, root in zip(paths, arrays.node_start.tolist(), strict=False):
        below = root
        for parent in Path(path).parents:
            above = directories.setdefault(str(parent), arrays.n_nodes + len(directories))
            edges.append((below, above, weights.directory))
            below = above
    strongest: dict[tuple[int, int], float] = {}
    for a, b, weight in edges:
        pair = (min(a, b), max(a, b))
        strongest[pair] = max(weight, strongest.get(pair, 0.0))
    ends = np.array(list(strongest))
    n = arrays.n_nodes + len(directories)
    return arrays, csr_matrix((-np.log(list(strongest.values())), (ends[:, 0], ends[:, 1])), shape=(n, n))


def scipy_strengths(graph: Any, sources: NDArray[np.integer]) -> Floats:
    """Strengths between the sources and all nodes, shape (n_sources, n_nodes)."""
    from scipy.sparse.csgraph import dijkstra

    costs: Floats = dijkstra(graph, directed=False, indices=sources)
    return np.exp(-costs)


def _best(scores: Floats) -> set[int]:
    return set(np.argsort(-scores, kind="stable")[:TOP].tolist())


# Speed


def speed(repository: IndexedTexts) -> dict[str, float]:
    graph, spans = repository.graph, repository.spans
    relations, build_ms = timed(lambda: Relations.build(graph, spans))
    cursors = repository.cursors(N_CURSORS)
    relations.relation_to_cursor(*cursors[0])
    cursor_ms = [timed(partial(relations.relation_to_cursor, *at))[1] for at in cursors]
    typing_ms = []
    for path, line in cursors:
        prefix = "".join(repository.texts[path].splitlines(keepends=True)[:line])
        overlay, part = graph.overlay(parse_file(path, prefix)), slice_file(path, prefix)
        overlay.call_edges(path)  # resolving it is not measured here
        own = {path: Spans(relations.n_ids, part.starts, part.ends)}
        cut, snapshot_ms = timed(partial(relations.with_changes, overlay, own))
        typing_ms.append(snapshot_ms + timed(partial(cut.relation_to_cursor, path, line))[1])
    changed = [path for path, _ in repository.cursors(N_EDITS)]
    edit_ms = [timed(partial(relations.with_changes, graph, {path: spans[path]}))[1] for path in changed]
    scores = repository.scores(*cursors[0])
    tree_ms = [timed(lambda: relations.environment(scores, n_call_rows=0))[1] for _ in range(20)]
    _, rows_ms = timed(lambda: relations.environment(scores))
    _, cached_ms = timed(lambda: relations.environment(scores))
    return {
        "lines": float(repository.n_lines),
        "build_us_per_line": 1e3 * build_ms / repository.n_lines,
        "memory_mb": _megabytes(relations._segmented.segments[0]),
        **percentiles("cursor", cursor_ms),
        **percentiles("cut_and_cursor", typing_ms),
        **percentiles("edit", edit_ms),
        "environment_tree_ms": statistics.median(tree_ms),
        "environment_first_ms": rows_ms,
        "environment_again_ms": cached_ms,
        **_peers(repository, relations),
    }


def _peers(repository: IndexedTexts, relations: Relations) -> dict[str, float]:
    """Strengths between one node and all others: ours (exact and bounded), scipy's and networkx' on the same graph."""
    import networkx

    arrays, graph = scipy_graph(repository)
    path = max(repository.spans, key=lambda path: len(repository.spans[path]))
    file = list(repository.spans).index(path)
    source = arrays.listed_node(file, 50)
    exact_ms = [timed(lambda: relations.strengths_from(path, 50))[1] for _ in range(3)]
    scipy_ms = [timed(lambda: scipy_strengths(graph, np.array([source])))[1] for _ in range(3)]
    literal = networkx.from_scipy_sparse_array(graph, edge_attribute="cost")
    _, networkx_ms = timed(lambda: networkx.single_source_dijkstra_path_length(literal, source, weight="cost"))
    return {
        "exact_source_ms": statistics.median(exact_ms),
        "scipy_source_ms": statistics.median(scipy_ms),
        "networkx_source_ms": networkx_ms,
    }


def _megabytes(value: object) -> float:
    if isinstance(value, np.ndarray):
        return value.nbytes / 1e6
    if isinstance(value, list | tuple):
        return sum(map(_megabytes, value))
    names: Iterable[str] = getattr(type(value), "__slots__", ()) or getattr(value, "__dict__", {}).keys()
    return sum(_megabytes(getattr(value, name)) for name in names)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("python -m weft.benchmarks.engine.relations", __doc__, "work", "trees", "machine")
    parser.add_argument("--tree", choices=TREES, default="networkx")
    parser.add_argument("--folder", type=Path, help="measure the speed on this folder's Python files instead")
    parser.add_argument("--part", choices=("fidelity", "speed"), help="only one of the two reports")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    parts, results = list[str](), dict[str, Any]()
    if options.part != "speed":
        results["fidelity"], rows = {}, list[list[str]]()
        for repo, folder in PACKAGES:
            root = options.trees / repo if options.trees else checkout(PINNED[repo], options.work)
            repository = IndexedTexts({p: t for p, t in read_texts(root).items() if p.startswith(folder)})
            shares = fidelity(repository)
            rounded = {name: round(share, 4) for name, share in shares.items()}
            results["fidelity"][repo] = {"lines": repository.n_lines, **rounded}
            rows.append([f"{repo}/{folder}", str(repository.n_lines), *(f"{share:.1%}" for share in shares.values())])
        parts.append(f"Share of the exact top {TOP}, {N_QUERIES} queries each.")
        parts.append(markdown(["package", "lines", *shares], rows))
    if options.part != "fidelity":
        report = speed(IndexedTexts(read_texts(options.folder or tree(options.tree, options.work))))
        results["speed"] = {name: round(value, 3) for name, value in report.items()}
        shown = {name.replace("_", " "): f"{value:.2f}" for name, value in report.items()}
        shown["lines"] = f"{report['lines']:,.6g}"
        for peer in ("scipy", "networkx"):
            ratio = report[f"{peer}_source_ms"] / report["cursor_p50_ms"]
            shown[f"{peer} / relation to the cursor"] = f"{ratio:.0f}x"
        rows = [list(pair) for pair in shown.items()]
        parts += ["Speed, one thread.", markdown(["", "value"], rows)]
    return Report("engine-relations", "\n\n".join(parts), results)


if __name__ == "__main__":
    raise SystemExit(main())
