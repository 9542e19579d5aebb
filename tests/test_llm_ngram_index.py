"""The n-gram index finds every position, however documents are laid out; streams end where they should."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.llm.protocol import CompletionRequest, Piece, PromptFragment
from weft.llm.streaming import LastPrompts, cut_stream
from weft.llm.workspace_model.ngram_index import KIND_ORDERS, MAX_ORDER, Segment, Vocabulary, match_lengths
from weft.llm.workspace_model.tokens import kind_of, tokenise_document

NUMBERS = st.lists(st.integers(1, 4), max_size=30)
DOCUMENTS = st.dictionaries(st.sampled_from(["b.py", "a/x.py", "a/y.py", "c.py"]), NUMBERS, min_size=1)

KINDS = np.arange(60, dtype=np.int32) // 2  # two neighbours are of a kind


def build(documents: dict[str, list[int]]) -> Segment:
    return Segment.build([(path, np.array(numbers, np.int32)) for path, numbers in documents.items()], KINDS)


@settings(max_examples=100)
@given(
    documents=DOCUMENTS,
    context=st.lists(st.integers(0, 4), min_size=6, max_size=6),
    order=st.sampled_from([1, 2, 3, 6]),
)
def test_every_position_after_a_context_is_found(documents: dict[str, list[int]], context: list[int], order: int):
    segment = build(documents)
    tokens = segment.tokens.tolist()
    expected = {at for at in range(MAX_ORDER, len(tokens)) if tokens[at - order : at] == context[-order:]}
    found = segment.positions_after(context, order).astype(np.int64)
    padded = np.array([-1] * MAX_ORDER + context, np.int32)
    exact, _ = match_lengths(segment.tokens, found, padded)
    assert set(found[exact >= order].tolist()) == expected
    assert len(set(found.tolist())) == len(found)


@settings(max_examples=100)
@given(
    documents=DOCUMENTS,
    context=st.lists(st.integers(0, 4), min_size=12, max_size=12),
    order=st.sampled_from(KIND_ORDERS),
)
def test_every_position_after_tokens_of_the_same_kinds_is_found(
    documents: dict[str, list[int]], context: list[int], order: int
):
    segment = build(documents)
    kinds = KINDS[segment.tokens].tolist()
    wanted = KINDS[context].tolist()
    expected = {at for at in range(MAX_ORDER, len(kinds)) if kinds[at - order : at] == wanted[-order:]}
    assert expected <= set(segment.positions_after_kinds(wanted, order, KINDS).tolist())


@given(DOCUMENTS)
def test_documents_come_back_in_path_order(documents: dict[str, list[int]]):
    segment = build(documents)
    assert segment.paths == tuple(sorted(documents))
    for index, path in enumerate(segment.paths):
        assert segment.document(index).tolist() == documents[path]
        assert segment.index_of(path) == index
        start, end = segment.span_of(path)
        assert segment.documents_at(np.arange(start, end)).tolist() == [index] * (end - start)
    assert segment.index_of("no.py") is None


def test_many_tokens_sort_alike_whatever_block_they_are_hashed_in():
    rng = np.random.default_rng(1)
    tokens = rng.integers(1, 50, 200_000).astype(np.int32)
    segment = Segment.build([("a.py", tokens)], KINDS)
    assert sorted(segment.by_tokens.positions.tolist()) == list(range(MAX_ORDER, segment.n_tokens))
    context = tokens[99_994:100_000].tolist()
    assert 100_000 + MAX_ORDER in segment.positions_after(context, 6).tolist()


def test_matches_are_counted_without_a_gap_and_in_all():
    tokens = np.arange(100, dtype=np.int32)
    context = np.arange(50 - MAX_ORDER, 50, dtype=np.int32)
    context[-4] = -5
    exact, agreeing = match_lengths(tokens, np.array([50, 51]), context)
    assert (exact.tolist(), agreeing.tolist()) == ([3, 0], [MAX_ORDER - 1, 0])


def test_a_word_is_known_with_and_without_a_space_before_it():
    vocabulary = Vocabulary()
    spaced = vocabulary.number(" total")
    assert vocabulary.text(int(vocabulary.bare[spaced])) == "total"
    assert vocabulary.spaced(int(vocabulary.bare[spaced])) == spaced
    assert vocabulary.kinds[spaced] == kind_of(" total") != vocabulary.kinds[vocabulary.bare[spaced]]
    assert len({int(vocabulary.kinds[vocabulary.number(word)]) for word in ("if", "(", ")", "return")}) == 4


def test_kinds_say_how_a_name_is_written():
    assert len({kind_of(token) for token in ("name", "Type", "CONSTANT", "12", "\n    ", " name", " Type")}) == 7
    assert kind_of("name") == kind_of("_other2") == kind_of("été")
    assert [kind_of(token) for token in ("if", "(", " ", "", '"""')] == [0] * 5


def test_a_number_keeps_its_meaning():
    vocabulary = Vocabulary()
    before = vocabulary.learn_document(tokenise_document("a", "x = y\n"))
    vocabulary.learn_document(tokenise_document("b", "other words = here\n"))
    assert "".join(map(vocabulary.text, before.tolist())) == "x = y\n"
    assert vocabulary.learn_text("x = y\r\n").tolist() == before.tolist()
    again = pickle.loads(pickle.dumps(vocabulary))
    assert again.learn_text("x = y\n").tolist() == before.tolist()


STOPS = ("ab", "abc", "\n", "ba\n")


@given(
    texts=st.lists(st.text(alphabet="abc\n", max_size=4), max_size=12),
    stop=st.sets(st.sampled_from(STOPS)),
    single_line=st.booleans(),
)
def test_a_stream_ends_at_the_first_stop_however_it_is_cut_up(texts: list[str], stop: set[str], single_line: bool):
    request = CompletionRequest("a", "", "", "", single_line=single_line, stop=tuple(stop))
    whole = "".join(texts)
    ends = [*stop, *(["\n"] if single_line else [])]
    expected = whole[: min((whole.find(end) for end in ends if end in whole), default=len(whole))]
    assert "".join(piece.text for piece in cut_stream(map(Piece, texts), request)) == expected


def test_a_stream_is_not_read_past_its_end():
    def source():
        yield Piece("x\n")
        pytest.fail("read on")

    assert list(cut_stream(source(), CompletionRequest("a", "", "", ""))) == [Piece("x")]


def test_only_the_last_files_are_remembered():
    last = LastPrompts()
    fragment = PromptFragment(("x.py",), "x", 0, 1.0)
    for number in range(100):
        last.remember(f"{number}.py", (fragment,))
    first, newest = (CompletionRequest(path, "", "", "") for path in ("0.py", "99.py"))
    assert (last.previous_fragments(first), last.previous_fragments(newest)) == ((), (fragment,))


def test_in_score_order_the_last_prompt_does_not_matter():
    last = LastPrompts()
    last.remember("a.py", (PromptFragment(("x.py",), "x", 0, 1.0),))
    assert last.previous_fragments(CompletionRequest("a.py", "", "", "", in_score_order=True)) == ()
