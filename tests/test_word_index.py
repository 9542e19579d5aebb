"""Words by their beginning, and their counts in the indexed documents, against a plain count of the texts."""

from __future__ import annotations

import pickle
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm.protocol import Cancel, CompletionRequest
from weft.llm.workspace_model import word_index
from weft.llm.workspace_model.match_finder import LiveSegment
from weft.llm.workspace_model.model import STORED_CLASSES, WorkspaceModel, tokenise_document
from weft.llm.workspace_model.ngram_index import Segment, Vocabulary
from weft.llm.workspace_model.word_index import NEVER, RepositoryWords, WordIndex

FILES = {"a.py": "alpha = alpine\nbeta(alpha)\n", "b.py": "alpha\nalso_alpha = 1\n", "c.py": "gamma._alpha\n"}


def counts(model: WorkspaceModel, path: str = "new.py") -> dict[str, int]:
    """Every word that other files have, and how often."""
    words = RepositoryWords(model._words, model._segments, path)
    found = words._index.beginning_with("")
    pairs = zip(found.tolist(), words.counts(found).tolist(), strict=True)
    return {model._vocabulary.text(word): n for word, n in pairs if n}


def expected(files: dict[str, str]) -> Counter[str]:
    return Counter(word for text in files.values() for word in re.findall(r"[^\W\d]\w*", text))


def build(files: dict[str, str]) -> WorkspaceModel:
    return WorkspaceModel.build([tokenise_document(path, text) for path, text in files.items()])


def beginning_with(
    model: WorkspaceModel, prefix: str, most: int, last_seen: dict[str, int] | None = None, path: str = "new.py"
) -> list[str]:
    vocabulary = model._vocabulary
    distance = np.full(len(vocabulary), NEVER)
    for word, at in (last_seen or {}).items():
        distance[vocabulary.number(word)] = at
    words = RepositoryWords(model._words, model._segments, path)
    return [vocabulary.text(word) for word in words.beginning_with(prefix, most, distance)]


def test_words_are_counted_without_the_space_before_them():
    assert counts(build(FILES)) == expected(FILES)


def test_the_own_indexed_version_of_a_file_does_not_count():
    others = {path: text for path, text in FILES.items() if path != "a.py"}
    assert counts(build(FILES), "a.py") == expected(others)


def test_removed_and_replaced_documents_do_not_count():
    model = build(FILES)
    removed = model.with_changes([], ["a.py"])
    replaced = model.with_changes([tokenise_document("a.py", "delta\n")], [])
    others = {path: text for path, text in FILES.items() if path != "a.py"}
    assert counts(removed) == expected(others)
    assert counts(replaced) == expected({**others, "a.py": "delta\n"})
    assert counts(model) == expected(FILES)  # the earlier snapshot is the same


def test_the_most_frequent_words_come_first_then_in_alphabetical_order():
    assert beginning_with(build(FILES), "al", 9) == ["alpha", "alpine", "also_alpha"]
    assert beginning_with(build(FILES), "al", 1) == ["alpha"]
    assert beginning_with(build(FILES), "_", 9) == ["_alpha"]
    assert beginning_with(build(FILES), "zeta", 9) == []


def test_words_of_the_file_come_before_those_of_other_files():
    near = {"also_alpha": 3, "alpine": 1}
    assert beginning_with(build(FILES), "al", 1, near) == ["alpine", "alpha"]
    assert beginning_with(build(FILES), "al", 2, near) == ["alpine", "also_alpha", "alpha"]


def test_words_of_no_live_document_are_left_out():
    model = build(FILES).with_changes([], ["a.py"])
    assert beginning_with(model, "alpi", 9) == []


def test_signs_and_numbers_are_no_words():
    model = build({"a.py": "x1 = 12 + 3.5 # ünder _y\n"})
    assert set(counts(model)) == {"x1", "ünder", "_y"}


@pytest.mark.parametrize("most", [0, 10_000])
def test_words_that_are_learned_after_sorting_are_found(most, monkeypatch):
    monkeypatch.setattr(word_index, "MOST_UNSORTED", most)
    model = build(FILES)
    model._vocabulary.learn_text("alphabet zeta")
    found = [model._vocabulary.text(word) for word in model._words.beginning_with("al").tolist()]
    assert found == ["alpha", "alphabet", "alpine", "also_alpha"]
    assert "alphabet" not in counts(model)  # it is in no document


def test_a_segment_that_was_not_prepared_is_counted():
    vocabulary = Vocabulary()
    index = WordIndex(vocabulary)
    tokens = vocabulary.learn_document(tokenise_document("a.py", "alpha alpha\n"))
    segment = Segment.build([("a.py", tokens)], vocabulary.kinds)
    live = LiveSegment(segment, np.ones(1, np.bool_))
    assert index.counts(np.array([vocabulary.number("alpha")]), [live]).tolist() == [2]


WORDS = st.sampled_from(["alpha", "alp", "beta", "b_1", "_x", "Zeta", "ünder"])
TEXTS = st.lists(WORDS, max_size=6).map(lambda words: " ".join(words) + "\n")
CHANGES = st.lists(st.tuples(st.sampled_from(["a.py", "b.py", "c.py", "d", "e"]), st.none() | TEXTS), max_size=12)


@settings(max_examples=60, deadline=None)
@given(CHANGES, st.sampled_from(["a", "al", "", "_", "Z"]), st.sampled_from(["a.py", "d", "e"]))
def test_counts_are_those_of_the_files_after_any_changes(changes, prefix, own):
    """Incremental equals from scratch, also for words that come before sorting, and after it."""
    before, word_index.MOST_UNSORTED = word_index.MOST_UNSORTED, 3
    try:
        files = {f"{name}.py": "alpha beta _x\n" * 9 for name in "abcdefgh"}
        model = build(files)
        for path, text in changes:
            if text is None:
                files.pop(path, None)
                model = model.with_changes([], [path])
            else:
                files[path] = text
                model = model.with_changes([tokenise_document(path, text)], [])
            others = {path: text for path, text in files.items() if path != own}
            assert counts(model, own) == expected(others)
        fresh = build(files)
        assert beginning_with(model, prefix, 3, path=own) == beginning_with(fresh, prefix, 3, path=own)
    finally:
        word_index.MOST_UNSORTED = before


def test_a_pickled_model_completes_and_counts_as_before():
    model = build(FILES).with_changes([tokenise_document("d.py", "alpha(beta)\n")], ["c.py"])
    again = pickle.loads(pickle.dumps(model))
    files = {path: text for path, text in FILES.items() if path != "c.py"} | {"d.py": "alpha(beta)\n"}
    assert counts(again) == counts(model) == expected(files)
    asked = CompletionRequest("new.py", "python", "x = al", "")
    texts = ["".join(piece.text for piece in each.stream(asked, Cancel())) for each in (model, again)]
    assert texts[0] == texts[1]
    changed = again.with_changes([tokenise_document("e.py", "zeta\n")], [])
    assert counts(changed) == expected({**files, "e.py": "zeta\n"})


def test_the_words_are_stored_as_arrays_and_neither_sorted_nor_counted_again(monkeypatch):
    assert WordIndex not in STORED_CLASSES
    monkeypatch.setattr(word_index, "MOST_UNSORTED", 0)
    model = build(FILES)
    data = pickle.dumps(model)
    assert b"WordIndex" not in data
    with monkeypatch.context() as patch:
        for name in ("_count", "_unsorted"):
            patch.delattr(WordIndex, name)
        patch.delattr(Vocabulary, "_add")
        again = pickle.loads(data)
    assert counts(again) == counts(model) == expected(FILES)
    assert beginning_with(again, "a", 9) == beginning_with(model, "a", 9)
    assert [again._vocabulary.number(word) for word in ("alpha", " ", "new")] == [
        model._vocabulary.number(word) for word in ("alpha", " ", "new")
    ]


def test_a_model_of_an_earlier_snapshot_is_stored_with_its_own_counts():
    earlier = build(FILES)
    earlier.with_changes([tokenise_document("a.py", "delta\n")], ["b.py"])  # shares the words
    assert counts(pickle.loads(pickle.dumps(earlier))) == expected(FILES)
