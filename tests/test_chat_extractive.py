"""The answer without a model: nothing in it that the repository does not hold, and plain words about what it is."""

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import Location, RepositoryIndex, slice_file
from weft.server.chat.evidence import gather
from weft.server.chat.extractive import NO_MODEL, extractive
from weft.server.chat.values import EvidenceItem, EvidenceSet, Finding


def index_of(text):
    """An index of files in one text: `#- name` opens each."""
    files = {}
    for part in textwrap.dedent(text).split("#- ")[1:]:
        name, _, content = part.partition("\n")
        files[name.strip()] = content
    return RepositoryIndex.build((parse_file(*file), slice_file(*file)) for file in files.items())


ZOO = """
    #- zoo/kangaroo.py
    def feed_kangaroo(hay, hour=12):
        \"\"\"Kangaroos are fed at noon.\"\"\"
        if hour != 12:
            return None
        weight = hay * 2
        return weight

    def noon():
        return feed_kangaroo(hay=3)
    #- zoo/rose.py
    def water_rose():
        return "kangaroo"
    """


@pytest.fixture(scope="module")
def zoo():
    return index_of(ZOO)


def reply_to(index, question):
    return extractive(gather({"zoo": index}, question))


def test_it_says_that_no_model_wrote_it(zoo):
    reply = reply_to(zoo, "When are kangaroos fed?")
    assert reply.text.endswith(NO_MODEL)
    assert "No model wrote this" in NO_MODEL
    assert (reply.model, reply.found) == ("", True)


def test_the_best_evidence_stands_first_with_its_place_and_the_reason(zoo):
    first = reply_to(zoo, "When are kangaroos fed?").text.split("\n")[0]
    assert first == "zoo/kangaroo.py:1-6 `feed_kangaroo` (mentions “fed”, “kangaroos”)"


def test_it_tells_how_calls_lead_to_a_definition(zoo):
    text = reply_to(zoo, "When are kangaroos fed?").text
    assert "called through zoo/kangaroo.py:9: `noon` calls `feed_kangaroo`" in text


def test_what_the_code_graph_says_comes_first(zoo):
    reply = reply_to(zoo, "What calls feed_kangaroo?")
    assert reply.text.startswith("`feed_kangaroo` is called at 1 location, in `noon`.\n- zoo/kangaroo.py:8-9: ")
    assert "    9      return feed_kangaroo(hay=3)" in reply.text
    assert reply.citations[0].location == "zoo/kangaroo.py:8-9"


def test_an_incomplete_finding_says_so():
    item = EvidenceItem("code", "a.py", 4, 5, "pay()", 1.0, "calls `pay`")
    text = extractive(EvidenceSet("?", (item,), 1.0, findings=(Finding("Here.", (item,), complete=False),))).text
    assert text.startswith("Here.\n- a.py:5-5: calls `pay`\n    5  pay()\n  The list may be incomplete.")


def test_not_found_says_what_was_looked_for_and_what_is_nearest(zoo):
    reply = reply_to(zoo, "Where is the kangaroo invoiced by email?")
    assert not reply.found
    assert reply.text.startswith("Not found in this repository.\nSearch terms: “invoiced”, “email”, “kangaroo”.")
    assert "In no file: “invoiced”, “email”." in reply.text
    assert "Closest matches:\n- zoo/" in reply.text


@pytest.mark.parametrize("question", ["", "?", "Where are the walruses?", "and then?"])
def test_a_question_without_an_answer_is_not_found(zoo, question):
    reply = reply_to(zoo, question)
    assert not reply.found
    assert reply.text.startswith("Not found in this repository.")


def test_the_threshold_is_the_callers(zoo):
    evidence = gather({"zoo": zoo}, "When are kangaroos fed?")
    assert not extractive(evidence, found_above=1.01).found
    assert extractive(evidence, found_above=0.0).found


def test_a_case_without_evidence_is_not_found_however_sure():
    assert extractive(EvidenceSet("?", (), 1.0)).text == "Not found in this repository."


def test_past_turns_are_no_evidence_of_the_repository():
    turn = EvidenceItem("turn", "conversation 1", 0, 1, "kangaroo", 1.0)
    reply = extractive(EvidenceSet("kangaroo?", (turn,), 1.0))
    assert not reply.found
    assert reply.citations == ()


def test_of_a_long_unit_the_lines_that_say_most_are_shown():
    lines = [f"    step_{n}()" for n in range(30)]
    lines[20] = "    kangaroo = feed(hay)"
    index = index_of("#- a.py\ndef run():\n" + "\n".join(lines))
    shown = [
        line for line in reply_to(index, "Where is the kangaroo fed with hay?").text.split("\n") if line[:4] == "    "
    ]
    assert "    22      kangaroo = feed(hay)" in shown
    assert len(shown) <= 2 * 8


def test_evidence_far_below_the_best_is_left_out():
    best = EvidenceItem("code", "a.py", 0, 1, "best", 1.0)
    near, far = (EvidenceItem("code", name, 0, 1, name, score) for name, score in (("near.py", 0.6), ("far.py", 0.2)))
    text = extractive(EvidenceSet("?", (best, near, far), 1.0)).text
    assert "near.py" in text
    assert "far.py" not in text


def test_a_folder_is_named_where_there_are_several(zoo):
    evidence = gather({"zoo": zoo, "shop": index_of("#- a.py\ndef pay(): pass\n")}, "When are kangaroos fed?")
    assert extractive(evidence).text.startswith("zoo: zoo/kangaroo.py:1-6 ")


def test_a_folder_goes_by_its_name_unless_two_have_the_same():
    def text(*folders):
        items = [EvidenceItem("code", "a.py", 0, 1, "best", 1.0, folder=folder) for folder in folders]
        return extractive(EvidenceSet("?", tuple(items), 1.0)).text

    assert text("/one/shop", "/two/zoo").startswith("shop: a.py:1-1")
    assert "/two/shop: a.py:1-1" in text("/one/shop", "/two/shop")


WORDS = st.sampled_from(
    ["kangaroo", "hay", "noon", "What calls", "feed_kangaroo", "water_rose", "reach", "return", "🦘"]
)
PLACE = re.compile(r"(zoo/\w+\.py):(\d+)-(\d+)")
NUMBERED = re.compile(r"^    +(\d+)  (.*)$")


@given(st.lists(WORDS, max_size=6).map(" ".join))
def test_every_line_that_is_shown_stands_in_the_snapshot(zoo, question):
    reply = reply_to(zoo, question)
    path = ""
    for line in reply.text.split("\n"):
        if place := PLACE.search(line):
            path = place[1]
            assert 0 < int(place[2]) <= int(place[3]) <= zoo.n_lines_of(path)
        elif numbered := NUMBERED.match(line):
            number = int(numbered[1])
            assert zoo.text(Location(path, number - 1, number)).strip() == numbered[2].strip()
    for citation in reply.citations:
        assert citation.text == zoo.text(Location(citation.path, citation.start_line, citation.end_line))
