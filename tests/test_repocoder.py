"""RepoCoder's windows: which lines ask, which windows may answer, and what a found one shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import (
    REPOCODER,
    STRATEGIES,
    Location,
    Query,
    QueryLines,
    RepositoryIndex,
    RetrievalOptions,
    RetrievalSettings,
    Slicing,
    oracle_query,
    predicted_query,
    retrieve,
    slice_file,
    vanilla_query,
)
from weft.retrieval.repocoder import shifted
from weft.retrieval.weft import HALF_LIFE_LINES, decayed_terms

CENTERED = Slicing()
RANKING = sorted(STRATEGIES.keys() - {"none"})


def numbered(first: int, end: int, word: str = "line") -> tuple[str, ...]:
    return tuple(f"{word} {number}" for number in range(first, end))


def file_of(n_lines: int) -> str:
    return "".join(f"{line}\n" for line in numbered(0, n_lines))


def index_of(files: dict[str, str], slicing: Slicing = CENTERED) -> RepositoryIndex:
    parts = [(parse_file(path, text), slice_file(path, text, slicing)) for path, text in files.items()]
    return RepositoryIndex.build(parts, RetrievalSettings(slicing=slicing))


def test_the_first_round_asks_the_last_twenty_lines():
    assert vanilla_query(file_of(25), 0) == QueryLines(numbered(5, 25))


def test_no_query_reaches_above_what_the_prompt_shows():
    for query in (
        vanilla_query(file_of(25), 21),
        predicted_query(file_of(25), 21, ""),
        oracle_query(file_of(25), 21, ""),
    ):
        assert query == QueryLines(numbered(21, 25))


def test_what_is_begun_of_a_line_is_asked_too():
    assert vanilla_query(file_of(25) + "    total = ", 0).before == (*numbered(6, 25), "    total = ")


def test_a_prediction_stands_in_the_middle_of_its_window():
    query = predicted_query(file_of(25), 0, "\n".join(numbered(0, 30, "guess")))
    assert query == QueryLines(numbered(15, 25), numbered(0, 10, "guess"))


def test_blank_lines_are_no_part_of_a_prediction_and_take_no_place_in_it():
    written = "\n\n".join(numbered(0, 12, "guess"))
    query = predicted_query("a\n\n  \nb\n", 0, written)
    assert query == QueryLines(("a", "b"), numbered(0, 10, "guess"))


def test_a_prediction_goes_on_where_the_cursor_stands_in_its_line():
    assert predicted_query("a\nx = to", 0, "tal(cart)\nreturn x") == QueryLines(("a",), ("x = total(cart)", "return x"))


def test_the_oracle_asks_ten_lines_to_either_side_blank_ones_included():
    truth = "answer\n\n" + "".join(f"{line}\n" for line in numbered(0, 30, "later"))
    query = oracle_query(file_of(25), 0, truth)
    assert query == QueryLines(numbered(15, 25), ("answer", "", *numbered(0, 8, "later")))


@given(
    st.lists(st.sampled_from(["a", "", "  ", "b = 1"]), max_size=60),
    st.integers(0, 60),
    st.integers(0, 60),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([20, 50, 7]),
)
def test_windows_are_those_of_the_paper(lines, target, shown_from, line_break, n_lines):
    """Against slices of the whole file, for every line of it as the target (papers' spec 2.1)."""
    target, half = min(target, len(lines)), n_lines // 2
    shown_from = min(shown_from, target)
    prefix = "".join(line + line_break for line in lines[:target])
    truth = line_break.join(lines[target:])
    vanilla = lines[max(shown_from, target - n_lines) : target]
    asked = vanilla_query(prefix, shown_from, n_lines).before
    assert list(asked) == vanilla or [*asked, ""] == vanilla, "one blank line at the end is nothing to ask"
    ours = oracle_query(prefix, shown_from, truth, n_lines)
    around = lines[max(shown_from, target - half) : min(len(lines), target + half)]
    assert [line for line in (*ours.before, *ours.after) if line] == [line for line in around if line]
    predicted = [line for line in lines[target:] if line.strip()]
    window = (lines[:target] + predicted)[max(shown_from, target - half) : target + half]
    ours = predicted_query(prefix, shown_from, truth, n_lines)
    assert [*ours.before, *ours.after] == [line for line in window if line.strip()]


@given(
    st.lists(st.sampled_from(["a", "", "b = 1"]), max_size=40),
    st.lists(st.sampled_from(["", "c"]), max_size=8),
    st.text("xy\n", max_size=30),
    st.integers(0, 45),
)
def test_only_the_oracle_knows_the_answer(above, between, written, shown_from):
    """The published program wrote the oracle's windows over those of the first round."""
    prefix = "".join(f"{line}\n" for line in above)
    truth = "\n".join((*between, "answer = 42", "later"))
    for query in (vanilla_query(prefix, shown_from), predicted_query(prefix, shown_from, written)):
        assert not any("answer" in line for line in (*query.before, *query.after))
    assert "answer = 42" in oracle_query(prefix, shown_from, truth).after


names = st.sampled_from(["a.py", "b.py", "c.py"])
code = st.lists(st.sampled_from(["load", "store = 1", "", "x"]), max_size=70)


@given(st.dictionaries(names, code, max_size=3), code, st.integers(0, 70), st.data())
def test_a_window_is_out_only_when_it_stands_nowhere_but_beyond_the_shown_line(files, target_file, line, data):
    """Against RepoCoder's rule on the windows of the finished file (papers' spec 2.2)."""
    line = min(line, len(target_file))
    assume(line > 0)
    shown_from = data.draw(st.integers(0, line - 1))
    files = {**files, "a.py": target_file}
    merged: dict[str, list[Location]] = {}
    for path, lines in files.items():
        for middle in range(0, len(lines), 10):
            place = Location(path, max(0, middle - 10), min(len(lines), middle + 10))
            merged.setdefault("\n".join(lines[place.start_line : place.end_line]), []).append(place)
    allowed = {
        text
        for text, places in merged.items()
        if not all(place.path == "a.py" and place.end_line > shown_from for place in places)
    }
    index = index_of({path: "".join(f"{text}\n" for text in lines) for path, lines in files.items()})
    prefix = "".join(f"{text}\n" for text in target_file[:line])
    view = index.at(Query("a.py", prefix, shown_from))
    ours = {view.text(view.location(int(window))) for window in view.candidates.nonzero()[0]}
    assert ours == allowed


@pytest.mark.parametrize("kind", ["centered", "plain"])
def test_both_ways_to_cut_windows_can_be_asked(kind):
    index = index_of({"a.py": "zebra\n" * 5 + "x = 1\n" * 40, "b.py": "x = 2\n"}, Slicing(kind))
    (found, *_) = retrieve(index, Query("b.py", "zebra", 0), REPOCODER).fragments
    assert found.fragment.locations[0] == Location("a.py", 0, 10 if kind == "centered" else 20)


@pytest.mark.parametrize(
    ("place", "n_file_lines", "lines"),
    [((0, 10), 100, (0, 20)), ((30, 50), 100, (40, 60)), ((80, 95), 95, (75, 95)), ((0, 8), 8, (0, 8))],
)
def test_a_shifted_window_shows_what_follows(place, n_file_lines, lines):
    assert shifted(Location("a.py", *place), n_file_lines, Slicing()) == Location("a.py", *lines)


@given(st.integers(0, 200), st.sampled_from([Slicing(), Slicing("plain"), Slicing("centered", 50, 10)]))
def test_shifted_windows_lie_in_their_file_and_hold_the_end_of_the_match(n_file_lines, slicing):
    for start, end in zip(*slicing.windows(n_file_lines), strict=True):
        place = shifted(Location("a.py", int(start), int(end)), n_file_lines, slicing)
        assert 0 <= place.start_line < end <= place.end_line <= n_file_lines
        assert place.end_line - place.start_line <= slicing.n_lines


@pytest.mark.parametrize("strategy", ["bm25", "jaccard", "fragrel"])
def test_shifted_fragments_have_the_text_of_their_place(strategy):
    text = "zebra\n" * 10 + "".join(f"{line}\n" for line in numbered(10, 40))
    options = RetrievalOptions(strategy, k=1, shift=True)
    (found,) = retrieve(index_of({"a.py": text, "b.py": "x\n"}), Query("b.py", "zebra", 0), options).fragments
    assert found.fragment.locations == (Location("a.py", 0, 20),)
    assert found.fragment.text == "\n".join(("zebra",) * 10 + numbered(10, 20))
    (found,) = retrieve(index_of({"a.py": text}), Query("b.py", "zebra", 0), replace(options, shift=False)).fragments
    assert found.fragment.locations == (Location("a.py", 0, 10),)


@pytest.mark.parametrize(("shown_from", "end"), [(30, 20), (14, 14)])
def test_a_window_of_the_own_file_is_not_shifted_into_what_the_prompt_shows(shown_from, end):
    own = "zebra\n" * 10 + "x = 1\n" * 25
    query = Query("a.py", own, shown_from, lines=QueryLines(("zebra",)))
    (found,) = retrieve(index_of({"a.py": own}), query, replace(REPOCODER, k=1, shift=True)).fragments
    assert found.fragment.locations == (Location("a.py", 0, end),)


words = st.sampled_from(["load", "store", "self.total", "x", "def f():", "    return load(x)", "", "import b", "   "])
contents = st.lists(words, max_size=50).map("\n".join)


@given(st.dictionaries(names, contents, max_size=3), contents)
@settings(max_examples=40, deadline=None)
def test_the_lines_before_the_cursor_ask_what_a_query_without_lines_asks(files, prefix):
    index = index_of(files)
    for strategy in RANKING:
        query, options = Query("a.py", prefix, 0), RetrievalOptions(strategy)
        plain = retrieve(index, query, options)
        assert retrieve(index, replace(query, lines=vanilla_query(prefix, 0)), options).fragments == plain.fragments


@pytest.mark.parametrize("strategy", RANKING)
def test_every_strategy_finds_what_only_the_lines_name(strategy):
    index = index_of({"price.py": "price_of = sum\n", "noise.py": "noise = 1\n"})
    query = Query("shop.py", "def pay(basket):\n", 0)
    assert retrieve(index, query, RetrievalOptions(strategy)).fragments == ()
    believed = QueryLines(("def pay(basket):",), ("    return price_of(basket)",))
    (found, *_) = retrieve(index, replace(query, lines=believed), RetrievalOptions(strategy)).fragments
    assert found.fragment.locations[0].path == "price.py"


def test_a_word_counts_by_its_nearest_mention_on_either_side_of_the_cursor():
    view = index_of({}).at(Query("a.py", "", 0, lines=QueryLines(("far", "near", "both"), ("here", "next", "both"))))
    weights = {
        word: 0.5 ** (distance / HALF_LIFE_LINES)
        for word, distance in {"here": 0, "both": 1, "next": 1, "near": 2, "far": 3}.items()
    }
    assert decayed_terms(view, 20) == pytest.approx(weights)
    assert Counter(view.query_terms(20)) == {"far": 1, "near": 1, "both": 2, "here": 1, "next": 1}
