"""The best fragments by MaxScore are those of all BM25 scores, bit by bit, and most postings are not read."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import Query, RepositoryIndex, inverted_index, max_score, slice_file
from weft.retrieval.index import CursorView

WORDS = ["pay", "shop", "till", "total", "item", "Shop", "open_till", "x", "self", "return"]

line = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
text = st.lists(line, max_size=45).map("\n".join)
files = st.dictionaries(st.sampled_from(["a.py", "b.py", "c.py", "d.py"]), text, min_size=1)
weights = st.dictionaries(st.sampled_from([*WORDS, "unknown"]), st.floats(0.01, 3), max_size=8)


def part(path: str, content: str):
    return parse_file(path, content), slice_file(path, content)


def check(view: CursorView, query: dict[str, float], n: int) -> None:
    """The result has the candidates with the n best scores, ties included."""
    scores = view.bm25(query)
    positive = np.flatnonzero(scores > 0)
    least = np.sort(scores[positive])[-n] if len(positive) > n else 0.0
    expected = positive[scores[positive] >= least]
    ids, found = view.best(query, n)
    assert np.array_equal(ids, expected)
    assert np.array_equal(found, scores[expected])  # bit by bit
    assert [view.text_hash(i) for i in ids.tolist()] == view.hashes[expected].tolist()


@settings(max_examples=120, deadline=None)
@given(files, files, st.sampled_from(["a.py", "b.py", "new.py"]), text, weights, st.integers(1, 12), st.data())
def test_the_best_fragments_are_those_of_all_scores(
    before: dict[str, str],
    after: dict[str, str],
    path: str,
    prefix: str,
    query: dict[str, float],
    n: int,
    data: st.DataObject,
) -> None:
    index = RepositoryIndex.build(part(*each) for each in before.items())
    index = index.with_changes([part(*each) for each in after.items()], data.draw(st.sets(st.sampled_from(["d.py"]))))
    if data.draw(st.booleans()) and path in index:  # the cursor is in the indexed text
        prefix = index.texts[path].decode()[: len(prefix) * 2]
    shown_from = data.draw(st.none() | st.integers(0, 40))
    view = index.at(Query(path, prefix, shown_from))
    check(view, query, n)  # by the C kernel, where there is one
    for limit in (0, max_score.READ_WHOLE):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(max_score, "compiled", None)
            patch.setattr(inverted_index, "compiled", None)
            patch.setattr(max_score, "READ_WHOLE", limit)
            patch.setattr(max_score, "FIRST_BATCH", data.draw(st.sampled_from([1, 16, 4096])))
            patch.setattr(max_score, "CHUNK", data.draw(st.sampled_from([1, 7, 16384])))
            patch.setattr(max_score, "LOOK_UP_FROM", data.draw(st.sampled_from([0.01, 0.4, 0.99])))
            check(view, query, n)
    assert not getattr(max_score._threads, "sums", np.zeros(1)).any()  # as the next query expects it


def many(n_files: int) -> RepositoryIndex:
    """Files with a frequent word in each window, and ten windows with a rare one."""
    rng = np.random.default_rng(0)
    texts = {
        f"f{i}.py": "\n".join(
            f"self value_{rng.integers(1000)} = {'zebra horse' if i < 10 and not at else ''}" for at in range(60)
        )
        for i in range(n_files)
    }
    return RepositoryIndex.build(part(path, content) for path, content in texts.items())


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many postings each array operation reads."""
    counted: list[int] = []
    joined = max_score._joined

    def count(runs):
        found = joined(runs)
        counted.append(len(found[0]))
        return found

    monkeypatch.setattr(max_score, "compiled", None)
    monkeypatch.setattr(max_score, "_joined", count)
    monkeypatch.setattr(max_score, "READ_WHOLE", 0)
    monkeypatch.setattr(max_score, "FIRST_BATCH", 1)
    return counted


@pytest.mark.parametrize("n_files", [60, 240])
def test_postings_of_frequent_words_are_not_read_when_rare_ones_decide(n_files: int, read: list[int]) -> None:
    index = many(n_files)
    view = index.at(Query("new.py", "x"))
    query = {"zebra": 1.0, "horse": 1.0, "self": 0.2, "value": 0.2}
    check(view, query, 5)
    assert 0 < sum(read) < 60  # the rare words are in at most two windows of ten files each
    assert index.lexical.n_postings(["self"])[0] > 4 * n_files


def test_a_query_makes_no_array_of_all_fragments(monkeypatch: pytest.MonkeyPatch, read: list[int]) -> None:
    index = many(60)
    view = index.at(Query("new.py", "x"))
    first = view.best({"zebra": 1.0, "self": 0.1}, 5)
    sums = max_score._threads.sums
    monkeypatch.setattr(type(index.lexical), "cut", None)  # copies every array over fragments
    for _ in range(3):
        again = index.at(Query("new.py", "x")).best({"zebra": 1.0, "self": 0.1}, 5)
        assert np.array_equal(again[0], first[0])
    assert max_score._threads.sums is sums


def test_threads_do_not_share_sums(read: list[int]) -> None:
    index = many(30)
    expected = index.at(Query("new.py", "x")).best({"zebra": 1.0, "self": 0.1}, 5)
    found = []

    def ask() -> None:
        for _ in range(20):
            found.append(index.at(Query("new.py", "x")).best({"zebra": 1.0, "self": 0.1}, 5))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(np.array_equal(ids, expected[0]) and np.array_equal(scores, expected[1]) for ids, scores in found)


def test_an_index_without_words_has_no_best_fragments() -> None:
    view = RepositoryIndex().at(Query("a.py", ""))
    for query in ({}, {"pay": 1.0}):
        ids, scores = view.best(query, 3)
        assert len(ids) == len(scores) == 0
