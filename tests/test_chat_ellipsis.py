"""What a follow-up question refers to: a table of conversations, and conversations about a small workspace."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.memory.storage import Turn
from weft.server.chat.ellipsis import EarlierTurn, is_elliptical, is_faithful, resolved
from weft.server.chat.follow_up_patterns import ENGLISH, FollowUpPatterns
from weft.server.chat.history import earlier_turn
from weft.server.config import Config
from weft.server.workspace.workspace import Workspace

DIJKSTRA = "Where is the shortest path with Dijkstra computed and what does it call?"
EVICTED = EarlierTurn("where are least recently used entries thrown out?", ("Cache.evict", "Cache"), 1, "shop/cache.py")
CLOSED = EarlierTurn("Where is the pool closed?", ("Pool.close",), 1, "pool.py")
EXTENDED = EarlierTurn("which classes extend `Shop`?", ("Kiosk", "Market", "Stall"), 3, "shop.py")
CHOOSE = "what does `choose` return?"


def asked(question, *before, **options):
    return resolved(question, before, **options).question


@pytest.mark.parametrize(
    "question",
    [
        DIJKSTRA,
        "where is the pool created and who closes it?",
        "and where is the pool created and who closes it?",
        "Who calls `main` and where is it defined?",
        "How are buffers reused and who frees them?",
        "What does the parser do if it fails?",
        "If the list is empty, what happens to it?",
        "Is it possible to pay twice?",
        "does it matter which one comes first?",
        "How is it decided whether a cookie is sent?",
        "where is it ensured that a name is unique?",
        "it seems slow, where is the loop?",
        "What is done with a value that cannot be parsed?",
        "Which function that is called by `main` closes the file?",
        "is there a retry?",
        "Why are there two caches?",
        "what happens when the directory is not there?",
        "and what calls `pay`?",
        "`RedirectSlashes`, then?",
        "Where are one-time passwords checked?",
        "How is only one instance made?",
    ],
)
def test_a_question_with_its_own_antecedent_is_asked_as_written(question):
    assert not is_elliptical(question)
    assert asked(question, EVICTED) == question


@pytest.mark.parametrize(
    ("before", "question", "whole"),
    [
        # The first cited symbol of the last answer.
        ([EVICTED], "and who calls it?", "who calls `Cache.evict`?"),
        ([EVICTED], "is that tested?", "is `Cache.evict` tested?"),
        ([EVICTED], "what are its defaults?", "what are `Cache.evict`'s defaults?"),
        ([EVICTED], "when is that function called?", "when is `Cache.evict` called?"),
        ([EVICTED], "which error does it raise then?", "which error does `Cache.evict` raise then?"),
        ([EVICTED], "is there a test?", "is there a test for `Cache.evict`?"),
        ([EVICTED], "is there a test for it?", "is there a test for `Cache.evict`?"),
        ([EVICTED], "where is that documented?", "where is `Cache.evict` documented?"),
        ([EVICTED], "what is logged there?", "what is logged in `Cache.evict`? (least recently entries thrown)"),
        ([EVICTED], "what else is in that file?", "what else is in `shop/cache.py`?"),
        # A name of the previous question, where that is about the name.
        ([CHOOSE], "and who calls it?", "who calls `choose`?"),
        ([CHOOSE], "does main_loop use it?", "does main_loop use `choose`?"),
        ([CHOOSE], "and when the list is empty?", "what does `choose` return when the list is empty?"),
        ([CHOOSE], "what about the async version?", "what about the async version? (`choose`)"),
        ([EarlierTurn("who calls `pay`?", ("main", "shop"), 2)], "and where is it defined?", "where is `pay` defined?"),
        (
            [EarlierTurn("Which function deletes the entries for `run_clean`?", ("Cache.drop",), 1)],
            "and who calls it?",
            "who calls `Cache.drop`?",
        ),
        (["How does as_view turn a View class into a function?"], "When is the class used?", "When is `View` used?"),
        ([CLOSED], "When is the class used?", "When is the class used?"),
        # Of several cited symbols, the one whose name the question spells out.
        (
            [
                EarlierTurn(
                    "Which method gives the cached row counts of Database?", ("Database", "Database.cached_counts"), 1
                )
            ],
            "and who calls it?",
            "who calls `Database.cached_counts`?",
        ),
        # Plurals.
        ([EXTENDED], "where are they defined?", "where are `Kiosk` and `Market` and `Stall` defined?"),
        (["what do `pay` and `total` return?"], "where are they defined?", "where are `pay` and `total` defined?"),
        ([EXTENDED], "and who calls it?", "who calls `Shop`?"),
        ([CLOSED], "how many of them are there?", "how many of them are there? (Where is the pool closed)"),
        # Nothing to insert: the words of the previous question.
        (["How is a pool created?"], "and for websockets?", "and for websockets? (pool created)"),
        ([EVICTED], "and in the tests?", "and in the tests? (least recently entries thrown)"),
        (["How is a pool created?"], "and who closes it?", "and who closes it? (How is a pool created)"),
        (["How is it done?"], "how is the same done here?", "how is the same done here? (How is it done)"),
        # Chains.
        (
            [EVICTED, "and who calls it?", "is it tested?"],
            "where is it documented?",
            "where is `Cache.evict` documented?",
        ),
        ([CHOOSE, "and when the list is empty?"], "and if it is full?", "what does `choose` return if it is full?"),
        ([EVICTED, "and who calls it?", CLOSED], "is it tested?", "is `Pool.close` tested?"),
        ([EVICTED, CHOOSE], "is it tested?", "is `choose` tested?"),
        # Asked before: resolved as it was then, unless there is a new subject.
        ([EarlierTurn(DIJKSTRA, ("shortest",), 1)], DIJKSTRA, DIJKSTRA),
        ([CHOOSE, CLOSED], "What does `choose` return", CHOOSE),
        ([EVICTED, EarlierTurn("and who calls it?", ("main",), 1)], "And who calls it", "who calls `Cache.evict`"),
        ([EVICTED, "and who calls it?", CLOSED], "and who calls it?", "who calls `Pool.close`?"),
    ],
)
def test_what_a_follow_up_refers_to(before, question, whole):
    assert asked(question, *before) == whole


def test_a_name_that_the_repository_does_not_define_is_no_antecedent_beside_a_cited_symbol():
    before = EarlierTurn("Where is an invalid_union issue made?", ("handle_results",), 1)
    assert asked("and who calls it?", before) == "who calls `invalid_union`?"
    assert asked("and who calls it?", before, is_known=lambda name: name == "handle_results") == (
        "who calls `handle_results`?"
    )


def test_a_plain_word_is_an_antecedent_for_who_knows_the_repository():
    before = EarlierTurn("what calls pay?", ("main",), 1)
    assert asked("where is it defined?", before, names_of=lambda _: ["pay"]) == "where is `pay` defined?"


def test_patterns_of_other_languages_are_passed_in():
    german = FollowUpPatterns(re.compile(r"^\s*und\b", re.IGNORECASE), re.compile(r"\bsie\b"))
    question = "und wer ruft sie auf?"
    assert asked(question, EVICTED) == question
    patterns = (ENGLISH, german)
    assert asked(question, EVICTED, patterns=patterns) == "und wer ruft sie auf? (`Cache.evict`)"
    assert asked("und in Tests?", CHOOSE, patterns=patterns) == "und in Tests? (`choose`)"


def test_rules_tell_whether_they_found_a_name():
    assert resolved("and who calls it?", [EVICTED]).has_name
    assert not resolved("and who calls it?", ["How is a pool created?"]).has_name


def test_a_rewrite_of_a_model_keeps_the_words_of_the_question():
    said = ["How is a pool created?", "By a factory."]
    assert is_faithful("who closes a pool?", "and who closes it?", said)
    assert not is_faithful("who opens a pool?", "and who closes it?", said)


PARTS = [
    "and ",
    "when ",
    "where is ",
    "it ",
    "there ",
    "them ",
    "the same ",
    "class ",
    "`pay` ",
    "pay_all ",
    "that ",
    "(",
]
QUESTIONS = st.one_of(st.text(), st.lists(st.sampled_from(PARTS)).map("".join))
EARLIER = st.builds(
    EarlierTurn, QUESTIONS, st.lists(st.text(max_size=9), max_size=4).map(tuple), st.integers(0, 4), st.text(max_size=9)
)


@given(QUESTIONS, st.lists(EARLIER, max_size=4))
def test_any_conversation_is_resolved_within_bounds_and_complete_questions_stay(question, before):
    whole = resolved(question, before, names_of=str.split, is_known=str.isalpha).question
    assert len(whole) <= max(len(question), *(len(each.question) for each in before), 0) + 1500 if before else True
    if not is_elliptical(question):
        assert whole == question or whole in {each.question for each in before}
        assert resolved(whole, before).question == whole


@pytest.mark.parametrize("word", ["it ", "that ", "and ", "there ", "the class ", " ", "(", "`", "a.", "if it "])
def test_long_questions_are_resolved_in_time(word):
    long = word * 20_000
    assert asked(long, EVICTED) == long
    assert len(asked("and who calls it?", long)) < 1500


# What an answer cites.


def turn(items, citations=None, answer="`x` is defined."):
    cited = [{"place": item["place"]} for item in items] if citations is None else citations
    return Turn("c", 0, "where is it?", 0.0, answer, 1.0, "", tuple(cited), tuple(items))


def item(place, symbol="", kind="definition", why=""):
    return {"kind": kind, "folder": "", "place": place, "symbol": symbol, "why": why}


def test_the_first_cited_definition_comes_first_and_tests_and_documents_do_not_count():
    items = [
        item("guide.md:1-9", "Guide", "document"),
        item("tests/test_a.py:1-9", "test_pay"),
        item("a.py:1-9", "pay", why="defines `pay`; mentions “x”"),
        item("b.py:1-9", "other", why="mentions “x”"),
    ]
    found = earlier_turn(turn(items))
    assert (found.symbols, found.n_alike, found.file) == (("pay", "test_pay", "other"), 1, "a.py")
    assert earlier_turn(turn(items[:1])).symbols == () and earlier_turn(turn(items[:1])).file == "guide.md"


def test_the_symbols_of_one_finding_belong_together():
    items = [item(f"{n}.py:1-2", f"Shop{n}", why="inherits from `Shop`") for n in range(5)]
    found = earlier_turn(turn([*items, item("z.py:1-2", "z", why="mentions “shop”")]))
    assert found.symbols == tuple(f"Shop{n}" for n in range(5)) and found.n_alike == 5


def test_a_model_cites_lines_inside_of_evidence():
    items = [item("a.py:1-20", "pay"), item("b.py:1-20", "total")]
    assert earlier_turn(turn(items, [{"place": "b.py:3-4", "folder": ""}])).symbols == ("total",)


def test_an_answer_that_found_nothing_cites_no_antecedent():
    assert earlier_turn(turn([item("a.py:1-9", "pay")], answer="Not found in this repository.")).symbols == ()
    assert earlier_turn(turn([{"odd": 1}, None, "x"], [None, "y", {}])).symbols == ()  # from another version


# Conversations.

FILES = """
#- shop/cache.py
class Cache:
    def __init__(self):
        self.entries = {}

    def evict(self):
        '''Throw out the entries that were used least recently.'''
        self.entries.pop(next(iter(self.entries)))

    def put(self, key, value):
        self.entries[key] = value
        if len(self.entries) > 9:
            self.evict()
#- shop/routes.py
import heapq


def neighbours(graph, node):
    return graph[node]


def shortest_path(graph, start, end):
    '''The shortest path, computed with Dijkstra.'''
    queue = [(0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if node == end:
            return cost
        for each, weight in neighbours(graph, node):
            heapq.heappush(queue, (cost + weight, each))
#- tests/test_cache.py
from shop.cache import Cache


def test_the_oldest_entry_goes():
    cache = Cache()
    cache.evict()
#- docs/guide.md
# Guide

## Memory

Call `evict` to free memory.
"""


@pytest.fixture
def ask(project, tmp_path, monkeypatch):
    """`ask(question)`: the next reply of one conversation about the files."""
    monkeypatch.setenv("WEFT_DATA_DIR", str(tmp_path / "data"))
    with Workspace([project(FILES)], Config(), cache=False) as workspace:
        workspace.index()
        id = ""

        def next_reply(question):
            nonlocal id
            reply = workspace.ask(question, id)
            id = reply.conversation_id
            return reply

        yield next_reply


def test_the_same_question_twice_has_the_same_answer(ask):
    first, second = ask(DIJKSTRA), ask(DIJKSTRA)
    assert (second.text, second.evidence.question) == (first.text, DIJKSTRA)


def test_it_is_the_symbol_that_the_last_answer_cites_first(ask):
    ask("where are least recently used entries thrown out?")
    reply = ask("and who calls it?")
    assert reply.evidence.question == "who calls `Cache.evict`?"
    assert "`Cache.evict` is called at" in reply.text and "`Cache.put` calls `Cache.evict`" in reply.text
    assert ask("and who calls it?").text == reply.text


def test_a_chain_keeps_its_subject_and_finds_tests_and_documents(ask):
    ask("where are least recently used entries thrown out?")
    ask("and who calls it?")
    tests = ask("is there a test for it?")
    assert tests.evidence.question == "is there a test for `Cache.evict`?"
    assert tests.evidence.items[0].symbol == "test_the_oldest_entry_goes"
    assert "is called, used or named in 1 test." in tests.text
    documents = ask("and where is it documented?")
    assert documents.evidence.question == "where is `Cache.evict` documented?"
    assert documents.evidence.items[0].path == "docs/guide.md"
    assert not ask("Which document explains how `evict` is released to the shop in March?").evidence.findings
    other = ask("What does `shortest_path` return?")
    assert other.evidence.question == "What does `shortest_path` return?"
    assert ask("and who calls it?").evidence.question == "who calls `shortest_path`?"
