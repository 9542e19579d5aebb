"""Ranked fragments for a cursor, as text: files with headers, one of them with <CURSOR>."""

from __future__ import annotations

import pickle
from dataclasses import replace
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from weft.codegraph import FileGraph, Relations, parse_file
from weft.errors import InvalidArgument
from weft.retrieval import (
    STRATEGIES,
    FileFragments,
    Query,
    RepositoryIndex,
    RetrievalOptions,
    RetrievalSettings,
    Retrieved,
    Slicing,
    UnknownStrategy,
    retrieve,
    slice_file,
    strategy_named,
)
from weft.retrieval.fragrel import fragrel
from weft.retrieval.ranking import Ranking, best_windows

CURSOR = "<CURSOR>"
CENTERED = Slicing()
BM25 = RetrievalOptions(strategy="bm25", k=5)


def read_files(text: str) -> dict[str, str]:
    """`#- path` headers begin files."""
    files = {}
    for part in dedent(text).strip("\n").split("#- ")[1:]:
        path, _, content = part.partition("\n")
        files[path] = content
    return files


def analysed(files: dict[str, str], slicing: Slicing = CENTERED) -> list[tuple[FileGraph, FileFragments]]:
    return [(parse_file(path, text), slice_file(path, text, slicing)) for path, text in files.items()]


def at_cursor(files: dict[str, str]) -> tuple[RepositoryIndex, Query]:
    """An index of the files as they are with the cursor taken out, and the query at the cursor."""
    (path,) = (path for path, text in files.items() if CURSOR in text)
    prefix = files[path].split(CURSOR)[0]
    return RepositoryIndex.build(analysed({**files, path: files[path].replace(CURSOR, "")})), Query(path, prefix)


def places(found: Retrieved) -> list[str]:
    return [
        " = ".join(f"{place.path}:{place.start_line}-{place.end_line}" for place in ranked.fragment.locations)
        for ranked in found.fragments
    ]


def check_ranking(text: str, expected: list[str], options: RetrievalOptions = BM25, shown_from: int | None = 0) -> None:
    index, query = at_cursor(read_files(text))
    assert places(retrieve(index, replace(query, shown_from_line=shown_from), options)) == expected


def numbered(word: str, n_lines: int) -> str:
    return "".join(f"{word}_{i} = {i}\n" for i in range(n_lines))


SHOP = """
    #- shop.py
    from price import total
    def pay(cart):
        return tot<CURSOR>al(cart)
    #- price.py
    def total(cart):
        return sum(cart)
    #- noise.py
    unrelated = 1
    """


def test_fragments_that_share_words_are_found_and_others_are_not():
    check_ranking(SHOP, ["price.py:0-2"])


def test_rare_words_count_more_than_common_ones():
    check_ranking(
        """
        #- a.py
        cart total zebra <CURSOR>
        #- b.py
        cart total
        #- c.py
        cart total
        #- d.py
        zebra
        """,
        ["d.py:0-1", "b.py:0-1 = c.py:0-1"],
    )


def test_identical_windows_are_one_fragment_with_all_places():
    check_ranking(
        """
        #- a.py
        licence <CURSOR>
        #- z.py
        licence text
        #- pkg/b.py
        licence text
        """,
        ["pkg/b.py:0-1 = z.py:0-1"],
    )


def test_identical_windows_have_the_score_of_the_best():
    index, query = at_cursor(read_files("#- q.py\nx<CURSOR>\n#- a.py\nsame\n#- b.py\nsame\n"))
    view = index.at(query)
    scores = view.bm25({"same": 1.0})
    scores[scores > 0] = [1.0, 2.0]
    (ranked,) = best_windows(view, Ranking(scores, lambda fragment: ()), BM25).fragments
    assert ranked.score == 2.0 and [place.path for place in ranked.fragment.locations] == ["b.py", "a.py"]


def test_of_the_own_file_only_windows_before_the_shown_lines_are_candidates():
    files = {"a.py": numbered("own", 60) + "own_5 = own_15<CURSOR>\n" + numbered("later_own", 40), "b.py": "other = 1"}
    index, query = at_cursor(files)
    found = retrieve(index, replace(query, shown_from_line=30), replace(BM25, query_lines=1))
    assert sorted(places(found)) == ["a.py:0-10", "a.py:0-20", "a.py:10-30"]


def test_as_much_as_the_query_is_shown_when_nothing_is_said():
    index, query = at_cursor({"a.py": numbered("own", 45) + "own_1<CURSOR>"})
    ends = [ranked.fragment.locations[0].end_line for ranked in retrieve(index, query, BM25).fragments]
    assert ends and max(ends) <= 46 - 20


def test_a_shown_window_stays_when_its_text_stands_elsewhere_too():
    check_ranking(
        """
        #- a.py
        shared = 1
        #- b.py
        shared = 1<CURSOR>
        """,
        ["a.py:0-1"],
    )


def test_the_query_ends_at_the_cursor():
    check_ranking(
        """
        #- a.py
        before<CURSOR> after
        #- b.py
        after
        #- c.py
        before
        """,
        ["c.py:0-1"],
    )


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_breaks_of_the_buffer_do_not_matter(end):
    index, query = at_cursor(read_files(SHOP))
    expected = retrieve(index, query, BM25)
    found = retrieve(index, replace(query, prefix=query.prefix.replace("\n", end)), BM25)
    assert found.fragments == expected.fragments


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_unknown_file_an_empty_buffer_and_an_empty_index_have_answers(strategy):
    options = RetrievalOptions(strategy=strategy, explain=True)
    index, _ = at_cursor(read_files(SHOP))
    assert retrieve(RepositoryIndex(), Query("a.py", "total"), options).fragments == ()
    assert retrieve(index, Query("price.py", ""), options).fragments == ()
    assert retrieve(index, Query("new \ud800.txt", "zzz \0 \ud83d\r", 0), options).fragments == ()
    assert retrieve(index, Query("new.py", "total(", 0), replace(options, k=0)).fragments == ()


@pytest.mark.parametrize("strategy", sorted(STRATEGIES.keys() - {"none"}))
def test_a_file_that_is_not_indexed_can_ask(strategy):
    index, _ = at_cursor(read_files(SHOP))
    found = retrieve(
        index, Query("new.py", "from price import total\nx = total(", 0), RetrievalOptions(strategy=strategy)
    )
    assert any("price.py" in place for place in places(found))


def test_strategy_none_returns_nothing():
    index, query = at_cursor(read_files(SHOP))
    assert retrieve(index, query, RetrievalOptions(strategy="none")).fragments == ()


def test_an_unknown_strategy_is_named_with_its_nearest_right_one():
    index, query = at_cursor(read_files(SHOP))
    with pytest.raises(UnknownStrategy, match="'bm52' is unknown; did you mean 'bm25'"):
        retrieve(index, query, RetrievalOptions(strategy="bm52"))


CALLS = """
    #- query.py
    cart cart<CURSOR>
    #- web/views/shop.py
    from core.money.price import total
    def pay(cart):
        return total(cart)
    #- core/money/price.py
    def total(x):
        return x
    #- core/other/thing.py
    def thing(x):
        return x
    """
FRAGREL = RetrievalOptions(strategy="fragrel", k=5)


def test_fragrel_finds_what_a_good_fragment_calls():
    check_ranking(CALLS, ["web/views/shop.py:0-3"], BM25)
    check_ranking(CALLS, ["web/views/shop.py:0-3", "core/money/price.py:0-2", "core/other/thing.py:0-2"], FRAGREL)


def test_fragrel_prefers_the_one_of_two_equal_fragments_that_has_good_neighbours():
    same = "cart = 1\n" + "filler = 2\n" * 19
    index, query = at_cursor(
        {"a/q.py": "cart<CURSOR>", "b/lone.py": same + "x = 1", "c/among.py": same + "cart = cart"}
    )
    lone, among = "b/lone.py:0-10 = c/among.py:0-10", "c/among.py:0-10 = b/lone.py:0-10"
    query = replace(query, shown_from_line=0)
    assert lone in places(retrieve(index, query, BM25))
    assert among in places(retrieve(index, query, FRAGREL))


def test_a_graph_that_the_caller_has_already_is_used():
    index, query = at_cursor(read_files(CALLS))
    found = retrieve(index, replace(query, file_graph=parse_file(query.path, query.prefix)), FRAGREL)
    assert found.fragments == retrieve(index, query, FRAGREL).fragments
    view = index.at(replace(query, file_graph=parse_file(query.path, "def half_typed(): pass")))
    assert view.graph.files[query.path].definitions[0].name == "half_typed"


@pytest.mark.parametrize("include_self", [False, True])
def test_fragrel_with_alpha_0_is_bm25_bit_by_bit(include_self):
    index, query = at_cursor(read_files(CALLS))
    options = replace(FRAGREL, alpha=0.0, include_self=include_self)
    assert retrieve(index, query, options).fragments == retrieve(index, query, BM25).fragments


def test_alpha_weighs_the_environment():
    """Eq. 10, in the score and in its explanation, with the environment that Eq. 9 gives for any alpha."""
    index, query = at_cursor(read_files(CALLS))
    view = index.at(query)
    words = view.bm25(view.query_terms(FRAGREL.query_lines))
    around = view.relations.environment(words, exclude=view.excluded, cutoff=FRAGREL.cutoff)
    assert np.count_nonzero(around) == 2
    for alpha in (0.2, 2.0):
        ranking = fragrel(view, replace(FRAGREL, alpha=alpha))
        np.testing.assert_allclose(ranking.scores, words + alpha * around)
        for i in np.flatnonzero(around).tolist():
            assert [part.value for part in ranking.explain(i)] == pytest.approx([words[i], alpha * around[i]])


def test_the_environment_is_computed_with_the_options(monkeypatch):
    asked = {}

    def environment(relations, scores, **options):
        asked.update(options)
        return np.zeros(len(scores))

    monkeypatch.setattr(Relations, "environment", environment)
    index, query = at_cursor(read_files(CALLS))
    retrieve(index, query, replace(FRAGREL, alpha=0.3, include_self=True, cutoff=0.02))
    assert (asked["alpha"], asked["include_self"], asked["cutoff"]) == (0.3, True, 0.02)


def test_a_fragment_counts_among_its_own_neighbours_only_when_asked():
    index, query = at_cursor(read_files("#- a.py\ncart<CURSOR>\n#- b/c/d.py\ncart\n"))
    query = replace(query, shown_from_line=0)
    (without,) = retrieve(index, query, FRAGREL).fragments
    (with_self,) = retrieve(index, query, replace(FRAGREL, include_self=True)).fragments
    words = retrieve(index, query, BM25).fragments[0].score
    assert without.score == pytest.approx(words) and with_self.score == pytest.approx(1.5 * words)
    for include_self, named in ((False, ""), (True, "b/c/d.py:1-1 (")):
        (explained,) = retrieve(index, query, replace(FRAGREL, include_self=include_self, explain=True)).fragments
        assert explained.parts[1].detail[:14] == named


def test_an_environment_score_names_the_neighbours_that_it_comes_from():
    index, query = at_cursor(read_files(CALLS))
    found = retrieve(index, query, replace(FRAGREL, explain=True)).fragments[1]
    environment = next(part for part in found.parts if part.name == "environment")
    assert found.fragment.locations[0].path == "core/money/price.py"
    assert environment.detail.startswith("web/views/shop.py:1-3 (")
    assert environment.detail.count("(") == 1, "core/other/thing.py is nearer, but has no word of the query"


def test_an_environment_score_names_its_three_strongest_neighbours():
    files = {f"{name}.py": f"cart {name}\n" for name in "abcde"}
    index, query = at_cursor({"q.py": "cart<CURSOR>", **files})
    for ranked in retrieve(index, query, replace(FRAGREL, explain=True)).fragments:
        assert ranked.parts[1].detail.count("(") == 3


words = st.sampled_from(["load", "store", "Cart", "self.total", "x", "def f():", "    return load(x)", "", "import b"])
contents = st.lists(words, max_size=70).map("\n".join)
repositories = st.dictionaries(st.sampled_from(["a.py", "b.py", "pkg/c.py"]), contents, max_size=3)


@settings(max_examples=40, deadline=None)
@given(repositories, contents, contents, st.integers(0, 60), st.sampled_from([Slicing(), Slicing("plain")]))
def test_a_view_scores_as_an_index_of_the_file_cut_at_the_cursor(files, prefix, after, shown_from, slicing):
    """Whatever the index holds of the file: an older text, one that goes on, or nothing."""
    settings_ = RetrievalSettings(slicing=slicing)
    for indexed in ({**files, "a.py": prefix + after}, files):
        view = RepositoryIndex.build(analysed(indexed, slicing), settings_).at(Query("a.py", prefix, shown_from))
        cut = RepositoryIndex.build(analysed({**indexed, "a.py": prefix}, slicing), settings_)
        query = {"load": 2.0, "store": 1.0, "cart": 1.0}
        for ours, theirs in (
            (view.bm25(query), cut.lexical.bm25(query)),
            (view.jaccard(query), cut.lexical.jaccard(query)),
        ):
            expected = {
                cut.location(i): theirs[i]
                for i in np.flatnonzero(cut.lexical.live)
                if cut.location(i).path != "a.py" or cut.ends[i] <= min(shown_from, view.cursor_line)
            }
            assert {view.location(i): ours[i] for i in np.flatnonzero(view.candidates)} == expected
            assert not ours[~view.candidates].any()
            assert all(view.text(place) == cut.text(place) for place in expected)


@settings(max_examples=25, deadline=None)
@given(repositories, contents, contents, contents)
def test_text_after_the_cursor_changes_nothing(files, prefix, after, other_after):
    query = Query("a.py", prefix, 10)
    found = []
    for text in (after, other_after):
        index = RepositoryIndex.build(analysed({**files, "a.py": f"{prefix}\n{text}"}))
        found.append([retrieve(index, query, RetrievalOptions(name)).fragments for name in STRATEGIES])
    assert found[0] == found[1]


changes = st.lists(st.tuples(repositories, st.sets(st.sampled_from(["a.py", "b.py", "z.py"]), max_size=1)), max_size=6)


@settings(max_examples=25, deadline=None)
@given(changes, contents)
def test_any_edits_lead_to_the_index_built_from_scratch(edits, prefix):
    index, files = RepositoryIndex(), {}
    for changed, removed in edits:
        index = index.with_changes(analysed(changed), removed)
        files = {path: text for path, text in {**files, **changed}.items() if path in changed or path not in removed}
    scratch = RepositoryIndex.build(analysed(files))
    assert (index.n_files, index.n_lines, index.n_fragments) == (scratch.n_files, scratch.n_lines, scratch.n_fragments)
    copy = pickle.loads(pickle.dumps(index))
    for strategy in STRATEGIES:
        options = RetrievalOptions(strategy)
        found = [retrieve(which, Query("b.py", prefix, 0), options).fragments for which in (scratch, index, copy)]
        assert found[1] == found[0] and found[2] == found[0]


@pytest.mark.parametrize("strategy", sorted(STRATEGIES.keys() - {"none"}))
def test_the_parts_of_a_score_add_up_to_it(strategy):
    index, query = at_cursor(
        {
            "pkg/a.py": numbered("own", 40) + "from .b import load\nload(cart, total_<CURSOR>",
            "pkg/b.py": "def load(cart):\n    return cart\n" + numbered("total", 30),
            "c.py": numbered("cart", 30),
        }
    )
    found = retrieve(index, query, RetrievalOptions(strategy, explain=True))
    assert len(found.fragments) > 3
    for ranked in found.fragments:
        assert sum(part.value for part in ranked.parts) == pytest.approx(ranked.score, abs=1e-9)


def test_words_are_explained_term_by_term():
    index, query = at_cursor(read_files(SHOP))
    (part,) = retrieve(index, query, replace(BM25, explain=True)).fragments[0].parts
    assert part.name == "words"
    assert [item.split()[0] for item in part.detail.split(", ")] == ["cart", "total", "def", "return"]


@pytest.mark.parametrize("strategy", sorted(STRATEGIES.keys() - {"none"}))
def test_the_way_from_the_cursor_to_a_fragment_is_told(strategy):
    index, query = at_cursor(
        {
            "web/shop.py": "from core.price import total\n\n\ndef pay(cart):\n    total(cart)\n    total(<CURSOR>",
            "core/price.py": "def total(cart):\n    return sum(cart)\n",
        }
    )
    (found,) = retrieve(index, query, RetrievalOptions(strategy, explain=True)).fragments
    assert found.path == ("web/shop.py: call total -> core/price.py: def total",)
    (found,) = retrieve(index, query, RetrievalOptions(strategy)).fragments
    assert found.path == ()


@pytest.mark.parametrize("above", ["", "    first = 1\n"], ids=["as indexed", "edited"])
def test_a_path_uses_no_call_after_the_cursor(above):
    rest = "    other()\n    return total(cart)\n"
    files = {"core/price.py": "def total(cart):\n    return cart.sum()\n"}
    shop = "from core.price import total\n\ndef pay(cart):\n"
    index = RepositoryIndex.build(analysed({**files, "web/shop.py": shop + rest}))
    for end, path in (
        ("    other()", "web/shop.py -> core/price.py"),
        (rest, "web/shop.py: call total -> core/price.py"),
    ):
        query = Query("web/shop.py", shop + above + end, 0)
        (found,) = retrieve(index, query, replace(BM25, explain=True)).fragments
        assert [step.partition(": def")[0] for step in found.path] == [path]


def test_windows_that_are_left_out_say_why():
    files = {
        "a.py": numbered("own", 40) + "zebra, zebra! zebra? <CURSOR>\n" + "zebra\n" * 40,
        "b.py": "zebra and much else to read here\n",
        "c.py": "zebra and much else to read there\n",
        "d.py": "zebra and some more to read, too, over there\n",
    }
    index, query = at_cursor(files)
    found = retrieve(index, replace(query, shown_from_line=40), replace(BM25, query_lines=1, k=2, explain=True))
    reasons = {f"{place.path}:{place.start_line}-{place.end_line}": reason for place, reason in found.left_out}
    assert reasons == {
        "d.py:0-1": "budget: rank 3, and the 2 best are returned",
        "a.py:30-41": "the prompt shows it already",
        "a.py:30-50": "holds code after the cursor",
        "a.py:40-60": "holds code after the cursor",
        "a.py:50-70": "after the cursor",
        "a.py:60-80": "after the cursor",
        "a.py:70-81": "after the cursor",
    }


def test_nothing_is_explained_unasked():
    index, query = at_cursor(read_files(SHOP))
    found = retrieve(index, query, BM25)
    assert found.left_out == () and all(ranked.parts == () for ranked in found.fragments)


# Presets.


@pytest.mark.parametrize(
    ("spelling", "same"),
    [
        # FragRel: Eq. 8 exactly, top 10, alpha 0.5; RepoCoder: the 20 best by Jaccard.
        ("fragrel:as_printed", RetrievalOptions("fragrel", k=10, alpha=0.5, cutoff=0.0)),
        ("jaccard:as_printed", RetrievalOptions("jaccard", k=20, query_lines=20)),
        ("fragrel:as_printed,alpha=0.2,k=3", RetrievalOptions("fragrel", k=3, alpha=0.2, cutoff=0.0)),
        ("fragrel:include_self=true", RetrievalOptions("fragrel", include_self=True)),
    ],
)
def test_a_preset_is_what_the_paper_prints_whatever_the_other_options_are(spelling, same):
    files = {"shop.py": "from price import total\ndef pay(cart):\n    return tot<CURSOR>al(cart)\n"}
    files |= {f"p{n}.py": f"def total_{n}(cart):\n    return sum(cart) + {n}\n" * 15 for n in range(5)}
    index, query = at_cursor(files)
    for shift in (False, True):  # set by the rounds of RepoCoder's loop
        found = retrieve(index, query, RetrievalOptions(spelling, k=1, alpha=0.9, cutoff=0.1, shift=shift))
        assert found.fragments == retrieve(index, query, replace(same, shift=shift)).fragments
        assert len(found.fragments) > 1


@pytest.mark.parametrize(
    ("spelling", "said"),
    [
        ("weft:as_printed", "`weft` is of no paper, so it has no preset. Use one of fragrel, jaccard"),
        ("fragrel:beta=1", "`fragrel` has no setting `beta`"),
        ("fragrel:alpha=much", 'takes no alpha="much". Give a number'),
        ("fragrol:as_printed", "did you mean 'fragrel'"),
    ],
)
def test_what_is_no_option_is_refused(spelling, said):
    with pytest.raises(InvalidArgument) as refused:
        strategy_named(spelling)
    assert said in str(refused.value)
