"""BM25 and Jaccard against their readable references, through any sequence of edits."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from weft.retrieval import inverted_index
from weft.retrieval.fragments import FileFragments, lines_between, slice_file
from weft.retrieval.inverted_index import InvertedIndex
from weft.retrieval.max_score import Cut, FragmentScores
from weft.retrieval.terms import count_terms, terms_of

WORDS = ["load", "store", "loadStore", "HTTPServer2", "größe", "x1", "42", "emoji😀name", "max_product", "\ud800"]

line = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
text = st.lists(line, max_size=45).map("\n".join)
path = st.sampled_from(["a.py", "b.py", "pkg/c.py", "pkg/d.go"])
change = st.tuples(st.dictionaries(path, text, max_size=3), st.sets(path, max_size=1))


class NonNegativeOkapi(BM25Okapi):
    """rank_bm25's BM25Okapi with the idf ln(1 + (N - df + 0.5) / (df + 0.5))."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        self.idf = {word: math.log(1 + (self.corpus_size - df + 0.5) / (df + 0.5)) for word, df in nd.items()}


def fragment_terms(part: FileFragments) -> list[list[str]]:
    return [terms_of(lines_between(part.text, *ends)) for ends in zip(part.starts, part.ends, strict=True)]


def check_scores(index: InvertedIndex, files: dict[str, str], query: str) -> None:
    """Scores of `index` are those of the references on the fragments of `files`, and 0 for every other id."""
    assert set(index.paths) == set(files)
    documents, ids = [], []
    for name, content in files.items():
        part = slice_file(name, content)
        assert len(index.ids(name)) == len(part)
        documents += fragment_terms(part)
        ids += index.ids(name)
    assert len(set(ids)) == len(ids) == index.n_fragments
    bm25, jaccard = index.bm25(count_terms(query)), index.jaccard(count_terms(query))
    others = np.setdiff1d(np.arange(index.n_ids), ids)
    assert not bm25[others].any() and not jaccard[others].any()
    asked = set(terms_of(query))
    for term in asked:
        having = [number for number, terms in zip(ids, documents, strict=True) if term in terms]
        assert sorted(index.fragments_with(term)) == sorted(having)
    expected = [len(asked & set(terms)) / max(len(asked | set(terms)), 1) for terms in documents]
    assert np.allclose(jaccard[ids], expected, rtol=0, atol=1e-12)
    if any(documents):
        reference = NonNegativeOkapi(documents).get_scores(terms_of(query))
        assert np.allclose(bm25[ids], reference, rtol=0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.lists(change, min_size=1, max_size=14), text)
def test_scores_equal_the_references_after_any_edits(changes, query):
    index, files = InvertedIndex(), {}
    snapshots = []
    for changed, removed in changes:
        removed = removed - changed.keys()
        index = index.with_changes([slice_file(*item) for item in changed.items()], removed)
        files = {name: content for name, content in {**files, **changed}.items() if name not in removed}
        snapshots.append((index, files))
    for index, files in (snapshots[0], snapshots[-1]):
        check_scores(index, files, query)


def test_many_small_edits_keep_ids_and_segments_few():
    files = {f"f{i}.py": f"name_{i} = load({i})\n" * 30 for i in range(40)}
    index = InvertedIndex.build(slice_file(*item) for item in files.items())
    n_ids = index.n_ids
    for i in range(400):
        name = f"f{i % 40}.py"
        files[name] = f"name_{i} = store({i}) + load\n" * (25 + i % 9)
        index = index.with_changes([slice_file(name, files[name])])
    check_scores(index, files, "load store name_399")
    assert index.n_ids < 3 * n_ids


def test_a_snapshot_never_changes():
    before = InvertedIndex.build([slice_file("a.py", "load store"), slice_file("b.py", "load")])
    query = {"load": 1.0, "other": 1.0}
    scores = before.bm25(query)
    ids = before.ids("a.py")
    for i in range(30):
        before.with_changes([slice_file("a.py", "other " * i)], ["b.py"])
    assert np.array_equal(before.bm25(query), scores) and before.ids("a.py") == ids


def test_batches_give_the_index_that_one_build_gives():
    files = {f"f{i}.py": "\n".join(WORDS[i % 7 :] * 9) for i in range(50)}
    parts = [slice_file(*item) for item in files.items()]
    index = InvertedIndex()
    for at in range(0, len(parts), 3):
        index = index.with_changes(parts[at : at + 3])
    check_scores(index, files, "loadStore größe")


def test_a_pickled_index_scores_alike():
    index = InvertedIndex.build([slice_file("a.py", "load store\n" * 30), slice_file("b.py", "")])
    copy = pickle.loads(pickle.dumps(index))
    assert np.array_equal(copy.bm25({"load": 1.0}), index.bm25({"load": 1.0}))
    assert copy.ids("a.py") == index.ids("a.py") and len(copy.ids("b.py")) == 0


def test_a_cut_file_scores_as_if_it_ended_there():
    whole = "\n".join(f"load {WORDS[i % 7]} name_{i}" for i in range(60))
    start = "\n".join(whole.split("\n")[:33])
    other = slice_file("b.py", "store load " * 20)
    index = InvertedIndex.build([slice_file("a.py", whole), other])
    expected = InvertedIndex.build([slice_file("a.py", start), other])
    query = count_terms("load name_3 store")
    view = index.cut("a.py", 2, slice_file("a.py", start, first=2))
    here = [*index.ids("a.py")[:2], *range(index.n_ids, view.n_ids)]
    assert np.allclose(view.bm25(query)[here], expected.bm25(query)[expected.ids("a.py")], atol=1e-12)
    assert np.allclose(view.bm25(query)[index.ids("b.py")], expected.bm25(query)[expected.ids("b.py")], atol=1e-12)
    assert not view.bm25(query)[index.ids("a.py")[2:]].any()


def test_the_terms_of_a_score_add_up_to_it():
    index = InvertedIndex.build([slice_file("a.py", "load store load\n" * 3), slice_file("b.py", "load x")])
    query = count_terms("load load store unknown")
    (fragment,) = index.ids("a.py")
    terms = FragmentScores(index, query, Cut(range(0), range(0), slice_file("c.py", ""), 0)).terms(fragment)
    assert list(terms) == ["store", "load"]
    assert sum(terms.values()) == pytest.approx(index.bm25(query)[fragment], abs=1e-12)


def test_an_empty_index_answers():
    index = InvertedIndex()
    assert len(index.bm25({"load": 1.0})) == 0 and len(index.jaccard(["load"])) == 0
    assert not InvertedIndex.build([slice_file("a.py", "...\n")]).bm25({"load": 1.0}).any()


def test_a_term_counts_at_most_65535_times_in_a_fragment():
    index = InvertedIndex.build([slice_file("a.js", "x " * 70_000), slice_file("b.js", "y")])
    assert index.bm25({"x": 1.0})[0] > 0


@given(st.lists(st.booleans(), max_size=30), st.integers(1, 5))
def test_new_fragments_get_the_first_gap_that_is_long_enough(taken, length):
    """The first run of free ids of that length, where all ids from the last one on are free."""
    after = [*taken, *([False] * length)]
    expected = next(at for at in range(len(taken) + 1) if not any(after[at : at + length]))
    assert inverted_index._first_gap(np.array(taken, bool), length) == expected


@given(st.lists(st.integers(0, 40), unique=True).map(sorted))
def test_members_are_the_same_as_a_slice(members):
    ids = np.arange(41)
    assert ids[inverted_index._at(np.array(members, np.int32))].tolist() == members
