"""Static vectors of fragments: what a file, an index and a view at a cursor say, with a small table of their own."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import FileGraph, parse_file
from weft.retrieval import FileFragments, RepositoryIndex, Slicing, fragments, slice_file, static_vectors
from weft.retrieval.fragment_vectors import IDS_IN_BLOCK, FragmentVectors
from weft.retrieval.fragments import slice_terms, split_lines, vectors_of
from weft.retrieval.static_vectors import (
    N_STORED,
    SCALE,
    TEXTS_IN_BLOCK,
    Postings,
    StaticVectors,
    cosines,
    normalised,
    packed,
    read_table,
    stored,
    table_identity,
    weight_of_count,
)
from weft.retrieval.terms import count_terms

WORDS = ("load", "store", "größe", "http", "server", "name", "total", "cart")
TABLE = StaticVectors(WORDS, np.random.default_rng(7).normal(size=(len(WORDS), N_STORED)).astype(np.float32))
PIECES = [
    *("load", "store", "load_store", "HTTPServer2", "größe", "total", "cart", "unknown", "7", "_", "-", " ", "\t"),
    *("\n", "\r\n", "\r", "\n\n\n", "\f", "\x85", "\0", "😀", "\ud800"),
]
texts = st.lists(st.sampled_from(PIECES), max_size=120).map("".join)
SMALL = Slicing("centered", 4, 2)


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[StaticVectors]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fragments, "shipped_vectors", lambda: TABLE)
        yield TABLE


def plain_sum(text: str) -> np.ndarray:
    """The vector of a text, word by word."""
    total = np.zeros(N_STORED)
    for term, count in count_terms(text).items():
        if term in WORDS:
            total += weight_of_count(np.array([count])) * TABLE.vectors[TABLE.words.index(term)]
    return stored(normalised(total))


def analysed(files: dict[str, str]) -> list[tuple[FileGraph, FileFragments]]:
    return [(parse_file(path, text), slice_file(path, text)) for path, text in files.items()]


def by_path(index: RepositoryIndex) -> dict[str, list[list[int]]]:
    ids = {path: index.lexical.ids(path) for path in index.texts}
    return {path: index.vectors[at.start : at.stop].tolist() for path, at in ids.items()}


# One file


@settings(max_examples=80, deadline=None)
@given(texts, st.sampled_from([SMALL, Slicing(), Slicing("plain", 3, 3)]))
def test_the_vector_of_a_window_is_the_sum_of_its_words(text, slicing):
    part = slice_file("a.py", text, slicing)
    lines = split_lines(text)
    expected = [plain_sum("\n".join(lines[at:end])) for at, end in zip(part.starts, part.ends, strict=True)]
    assert part.vectors.dtype == np.int8 and part.vectors.shape == (len(part), N_STORED)
    assert part.vectors.tolist() == [vector.tolist() for vector in expected]


def test_words_count_by_the_logarithm_of_their_count():
    (vector,) = slice_file("a.py", "load load load store").vectors
    weights = {"load": 1 + np.log(3), "store": 1.0}
    assert vector.tolist() == stored(TABLE.vector(weights)).tolist()
    assert cosines(vector[None], TABLE.vector(weights))[0] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(
    "text", ["", "\n", "\0" * 10, "\x7fELF\x02\x01\0\0", "\ud83d", "x" * 300_000, "😀 " * 50_000, "(" * 20_000]
)
def test_text_without_known_words_has_zeros(text):
    part = slice_file("a.py", text)
    assert part.vectors.shape == (len(part), N_STORED) and not part.vectors.any()


def test_line_breaks_change_nothing():
    unix, windows, mac = (slice_file("a.py", f"load{end}store{end}").vectors.tolist() for end in ("\n", "\r\n", "\r"))
    assert unix == windows == mac


@pytest.mark.parametrize("n_windows", [1, TEXTS_IN_BLOCK - 1, TEXTS_IN_BLOCK, TEXTS_IN_BLOCK + 1, 5 * TEXTS_IN_BLOCK])
def test_blocks_of_any_size_give_the_same(monkeypatch, n_windows):
    lines = [" ".join(np.random.default_rng(n).choice([*WORDS, "other"], n % 7)) for n in range(10 * n_windows)]
    part = slice_file("a.py", "\n".join(lines))
    assert len(part) == n_windows
    for size in (1, 3, 10_000):
        monkeypatch.setattr(static_vectors, "TEXTS_IN_BLOCK", size)
        assert np.array_equal(vectors_of(part), part.vectors)


@settings(max_examples=40, deadline=None)
@given(texts, st.randoms(use_true_random=False))
def test_the_order_of_terms_does_not_matter(text, random):
    """Each process numbers its terms in the order in which it meets them."""
    part = slice_file("a.py", text, SMALL)
    order = list(range(len(part.keys)))
    random.shuffle(order)
    runs = [slice(part.indptr[at], part.indptr[at + 1]) for at in order]
    sizes = np.array([run.stop - run.start for run in runs], int)
    postings = Postings(
        part.keys[order],
        np.concatenate(([0], np.cumsum(sizes))),
        np.concatenate([part.windows[run] for run in runs] or [part.windows]),
        np.concatenate([part.counts[run] for run in runs] or [part.counts]),
    )
    assert np.array_equal(TABLE.of_postings(postings, len(part)), part.vectors)


def test_without_a_table_vectors_are_zeros(monkeypatch):
    monkeypatch.setattr(fragments, "shipped_vectors", lambda: None)
    part = slice_file("a.py", "load\n" * 30)
    assert part.vectors.shape == (3, N_STORED) and not part.vectors.any()
    index = RepositoryIndex.build(analysed({"a.py": "load\n" * 30}))
    assert index.meaning(TABLE.vector({"load": 1.0})).tolist() == [0, 0, 0]


@pytest.mark.parametrize("text", ["", "load", "load\n" * 100])
def test_vectors_survive_the_way_from_a_worker(text):
    part = slice_file("a.py", text)
    copy = pickle.loads(pickle.dumps(part))
    assert copy.vectors.dtype == np.int8 and np.array_equal(copy.vectors, part.vectors)


def test_terms_alone_have_no_vectors():
    part = slice_terms("a.py", "load\n" * 30)
    assert part.vectors.shape == (3, N_STORED) and not part.vectors.any()


# All files

PATHS = ("a.py", "b.py", "c/d.py")
contents = st.lists(st.sampled_from([*WORDS, "other", "\n", "\n" * 9]), max_size=60).map(" ".join)
edits = st.lists(
    st.tuples(st.dictionaries(st.sampled_from(PATHS), contents, max_size=3), st.sets(st.sampled_from(PATHS))),
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(edits)
def test_changes_give_the_vectors_of_a_build_from_scratch(changes):
    index, files = RepositoryIndex(), {}
    snapshots = []
    for changed, removed in changes:
        index = index.with_changes(analysed(changed), removed)
        files = {path: text for path, text in {**files, **changed}.items() if path in changed or path not in removed}
        snapshots.append((index, by_path(index)))
    scratch = RepositoryIndex.build(analysed(files))
    assert by_path(index) == by_path(scratch) == by_path(pickle.loads(pickle.dumps(index)))
    query = TABLE.vector({"load": 1.0, "cart": 0.5})
    found, expected = index.meaning(query), cosines(index.vectors, query)
    assert found.dtype == np.float32 and found.shape == (index.lexical.n_ids,)
    assert np.allclose(found, np.where(index.lexical.live, expected, 0))
    for before, vectors in snapshots:
        assert by_path(before) == vectors


def test_removed_files_have_no_meaning():
    files = {"a.py": "load store\n" * 40, "b.py": "total\n"}
    index = RepositoryIndex.build(analysed(files)).with_changes([], ["a.py"])
    (total,) = index.lexical.ids("b.py")
    found = index.meaning(TABLE.vector({"total": 1.0, "load": 1.0}))
    assert np.flatnonzero(found).tolist() == [total]


def test_an_index_that_was_stored_takes_changes():
    index = pickle.loads(pickle.dumps(RepositoryIndex.build(analysed({"a.py": "load\n" * 30, "b.py": "cart"}))))
    changed = index.with_changes(analysed({"a.py": "store\n" * 50}))
    assert by_path(changed) == by_path(RepositoryIndex.build(analysed({"b.py": "cart", "a.py": "store\n" * 50})))
    assert by_path(index)["a.py"] == slice_file("a.py", "load\n" * 30).vectors.tolist()


def test_a_change_copies_the_blocks_that_it_writes_to():
    rows = np.random.default_rng(0).integers(-127, 128, (3 * IDS_IN_BLOCK + 5, N_STORED)).astype(np.int8)
    before = FragmentVectors().with_changes(len(rows), [(0, rows)])
    after = before.with_changes(len(rows) + 3, [(IDS_IN_BLOCK + 7, -rows[:2]), (len(rows), rows[:3])])
    expected = np.concatenate((rows, rows[:3]))
    expected[IDS_IN_BLOCK + 7 : IDS_IN_BLOCK + 9] = -rows[:2]
    assert np.array_equal(before.joined(), rows) and np.array_equal(after.joined(), expected)
    shared = [ours is theirs for ours, theirs in zip(before._blocks, after._blocks, strict=True)]
    assert shared == [True, False, True, False]
    assert np.array_equal(pickle.loads(pickle.dumps(after)).joined(), expected)
    query = TABLE.vector({"load": 1.0})
    assert np.allclose(after.cosines(query), cosines(expected, query))


def test_an_empty_index_has_no_vectors():
    index = RepositoryIndex()
    assert index.vectors.shape == (0, N_STORED) and index.meaning(TABLE.vector({"load": 1.0})).shape == (0,)


# The table


def test_a_table_survives_its_file(tmp_path):
    path = tmp_path / "table.npz"
    np.savez(path, **packed(WORDS, TABLE.vectors[[TABLE.words.index(word) for word in WORDS]]))
    copy = read_table(path)
    assert copy.words == TABLE.words and np.abs(copy.vectors - TABLE.vectors).max() < 0.03


def test_the_identity_of_a_table_is_that_of_its_file(tmp_path, monkeypatch):
    path = tmp_path / "table.npz"
    monkeypatch.setattr(static_vectors, "TABLE_FILE", path)
    found = []
    for content in (None, b"one", b"two"):
        if content is not None:
            path.write_bytes(content)
        table_identity.cache_clear()
        found.append(table_identity())
    monkeypatch.undo()
    table_identity.cache_clear()
    assert found[0] == "" and len(set(found)) == 3


def test_a_stored_vector_has_length_one():
    (vector,) = slice_file("a.py", "load store cart").vectors
    assert np.linalg.norm(vector / SCALE) == pytest.approx(1, abs=0.02)
