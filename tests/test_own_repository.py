"""The invariants on real code: Weft's own. Slower than fixtures, and without their tidiness."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import weft
from weft.codegraph import parse_file
from weft.retrieval import Query, RepositoryIndex, RetrievalOptions, retrieve, slice_file

ROOT = Path(weft.__file__).resolve().parent
ROOMS = ("codegraph", "retrieval", "llm", "server", "benchmarks", "tests")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py") if ".work" not in path.parts]
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def parts(texts: dict[str, str]):
    return [(parse_file(path, text), slice_file(path, text)) for path, text in texts.items()]


def test_edits_of_real_files_lead_to_what_a_build_from_scratch_gives(texts):
    rng = random.Random(7)
    now = dict(texts)
    index = RepositoryIndex.build(parts(now))
    for _ in range(30):
        path = rng.choice(sorted(now))
        lines = now[path].split("\n")
        kind = rng.choice(["cut", "double", "swap", "delete", "rename"])
        start = rng.randrange(len(lines))
        if kind == "delete" and len(now) > 50:
            del now[path]
            index = index.with_changes([], [path])
            continue
        if kind == "rename":
            moved = path.replace(".py", "_moved.py")
            now[moved] = now.pop(path)
            index = index.with_changes(parts({moved: now[moved]}), [path])
            continue
        if kind == "cut":
            lines = lines[:start] + lines[start + rng.randrange(1, 30) :]
        elif kind == "double":
            lines[start:start] = lines[start : start + rng.randrange(1, 30)]
        else:
            lines[start], lines[-1] = lines[-1], lines[start]
        now[path] = "\n".join(lines)
        index = index.with_changes(parts({path: now[path]}))
    fresh = RepositoryIndex.build(parts(now))
    assert index.texts == fresh.texts
    assert index.n_lines == fresh.n_lines
    for path in now:
        assert index.graph.call_edges(path) == fresh.graph.call_edges(path), path
    query = dict.fromkeys(("index", "graph", "path", "self", "fragment", "FileGraph"), 1.0)
    ours, theirs = index.lexical.bm25(query), fresh.lexical.bm25(query)
    for path in now:
        a, b = index.lexical.ids(path), fresh.lexical.ids(path)
        np.testing.assert_allclose(ours[a.start : a.stop], theirs[b.start : b.stop], rtol=1e-12)


def test_what_follows_the_cursor_changes_no_answer(texts):
    rng = random.Random(11)
    index = RepositoryIndex.build(parts(texts))
    for strategy in ("weft", "fragrel", "bm25"):
        for _ in range(8):
            path = rng.choice([path for path in texts if texts[path].count("\n") > 60])
            lines = texts[path].split("\n")
            line = rng.randrange(40, len(lines) - 5)
            query = Query(path, "\n".join(lines[:line]) + "\n", max(0, line - 20))
            options = RetrievalOptions(strategy=strategy)
            found = retrieve(index, query, options)
            other_end = "\n".join([*lines[:line], "def something_else():", "    return 'entirely'", ""])
            changed = index.with_changes(parts({path: other_end}))
            again = retrieve(changed, query, options)
            assert [ranked.fragment.locations for ranked in again.fragments] == [
                ranked.fragment.locations for ranked in found.fragments
            ]
            # FragRel's may differ a little: other files' calls were resolved when the rest of the file was there.
            assert [ranked.score for ranked in again.fragments] == pytest.approx(
                [ranked.score for ranked in found.fragments], rel=5e-3 if strategy == "fragrel" else 1e-9
            )
