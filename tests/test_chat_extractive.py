"""The answer without a model: nothing in it that the repository does not hold, and plain words about what it is."""

import re
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import Location, RepositoryIndex, slice_file
from weft.server.chat.evidence import gather
from weft.server.chat.extractive import extractive
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
    return extractive(gather({"zoo": index}, question), indexes={"zoo": index})


def first_line(index, question):
    return reply_to(index, question).text.split("\n")[0]


def test_the_first_line_is_a_sentence_and_the_best_lines_follow(zoo):
    reply = reply_to(zoo, "When are kangaroos fed?")
    sentence, empty, best, *_ = reply.text.split("\n")
    assert sentence == "`feed_kangaroo` in zoo/kangaroo.py:1: kangaroos are fed at noon."
    assert (empty, best) == ("", "zoo/kangaroo.py:1-6 `feed_kangaroo` (mentions “fed”, “kangaroos”)")
    assert (reply.model, reply.found, reply.level) == ("", True, "sure")


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
    assert reply.level == "not found"
    assert reply.text.startswith(
        "Not found in this repository.\n“invoiced” and “email” occur in no file.\nClosest matches:\n- zoo/"
    )


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
    assert "\n\nzoo: zoo/kangaroo.py:1-6 " in extractive(evidence).text


def test_a_value_of_one_of_several_folders_is_named_with_it():
    indexes = {f"/{name}": index_of(f"#- {name}.py\n{name.upper()}_LIMIT = 3\n") for name in ("shop", "zoo")}
    reply = extractive(gather(indexes, "What is SHOP_LIMIT?"), indexes=indexes)
    assert reply.text.startswith("`SHOP_LIMIT` is 3 (shop: shop.py:1).")


def test_a_folder_goes_by_its_name_unless_two_have_the_same():
    def text(*folders):
        items = [EvidenceItem("code", "a.py", 0, 1, "best", 1.0, folder=folder) for folder in folders]
        return extractive(EvidenceSet("?", tuple(items), 1.0)).text

    assert text("/one/shop", "/two/zoo").startswith("The best match is shop: a.py:1-1.\n\nshop: a.py:1-1")
    assert "/two/shop: a.py:1-1" in text("/one/shop", "/two/shop")


# The first sentence


CACHE = """
    #- shop/cache.py
    MAX_AGE = 60  # seconds

    class Cache:
        def evict(self):
            \"\"\"Remove and forget the oldest :class:`~shop.Entry`. Then more.\"\"\"
            self.pop_oldest()

        def pop_oldest(self):
            self.entries.pop(0)

        def put(self, entry):
            self.pop_oldest()
            self.entries.append(entry)
    #- README.md
    # Shop

    ## Expiry

    ```
    shop --expiry
    ```

    Entries [expire](x.md) after an hour. They are evicted then.
    """


@pytest.fixture(scope="module")
def cache():
    return index_of(CACHE)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How does evict work?", "`Cache.evict` in shop/cache.py:4 removes and forgets the oldest `Entry`."),
        (
            "How does pop_oldest work?",
            "`Cache.pop_oldest` in shop/cache.py:8 (called by `evict`, `put`).",
        ),
        ("What is the default max age?", "`MAX_AGE` is 60 (shop/cache.py:1)."),
        ("What is `MAX_AGE`?", "`MAX_AGE` is 60 (shop/cache.py:1)."),
        ("Where is `MAX_AGE` defined?", "`MAX_AGE` is 60 (shop/cache.py:1)."),
        ("Where is pop_oldest defined?", "`pop_oldest` is defined in shop/cache.py:8."),
        ("Which document describes the expiry?", "README.md, section `Expiry`: entries expire after an hour."),
        ("What calls pop_oldest?", "`pop_oldest` is called at 2 locations, in `Cache.evict`, `Cache.put`."),
    ],
)
def test_the_first_sentence_answers(cache, question, expected):
    assert first_line(cache, question) == expected


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("Pay takes the money.", " takes the money."),
        ("Returns the money, or nothing.", " returns the money, or nothing."),
        ("Index of the money.", ": index of the money."),
        ("HTTP errors.", ": HTTP errors."),
        (f"Takes the {'money ' * 40}", f" takes the {'money ' * 25}…"),
    ],
)
def test_a_description_becomes_the_rest_of_a_sentence(comment, expected):
    index = index_of(f"#- a.go\npackage a\n\n// {comment}\nfunc Pay() {{}}\n")
    assert first_line(index, "How does Pay work?") == f"`Pay` in a.go:4{expected}"


def test_an_uncertain_answer_says_perhaps_and_what_is_missing():
    items = tuple(EvidenceItem("code", f"{name}.py", 0, 1, name, 1.0) for name in ("pay", "tax", "sum", "max"))
    reply = extractive(EvidenceSet("?", items, 0.9, search_terms=("pay", "tax"), probability_right=0.5))
    assert (reply.found, reply.level, len(reply.citations)) == (True, "perhaps", 3)
    assert reply.text.startswith(
        "Perhaps: The best match is pay.py:1-1.\nNo single definition has all of: “pay”, “tax”.\n\npay.py:1-1\n"
    )
    reply = extractive(EvidenceSet("?", items, 0.9, (), (), ("pay", "tip"), ("tip",), probability_right=0.5))
    assert "\n“tip” occurs in no file.\n" in reply.text


# The choice of what is shown


def test_code_goes_before_documents_examples_and_tests_unless_they_match_much_better():
    def order(question, **scores):
        items = [EvidenceItem("code", each.replace("_", "/") + ".py", 0, 1, each, n) for each, n in scores.items()]
        text = extractive(EvidenceSet(question, tuple(items), 1.0)).text
        return re.findall(r"^(\S+)\.py:1-1$", text, re.MULTILINE)

    assert order("pay?", examples_a=1.0, tests_b=0.9, code=0.8) == ["code", "examples/a", "tests/b"]
    assert order("pay?", examples_a=1.0, code=0.6) == ["examples/a", "code"]
    assert order("Which example shows how to pay?", examples_a=1.0, code=0.8) == ["examples/a", "code"]
    assert order("Which test pays?", tests_b=1.0, code=0.8) == ["tests/b", "code"]


def test_a_long_list_is_folded_after_code_of_several_files():
    calls = "".join(f"def f{n}():\n    pay()\n" for n in range(6))
    names = ("a", "b", "tests/test_c")
    files = "".join(f"#- {name}.py\nfrom shop import pay\n{calls}" for name in names)
    index = index_of(f"#- shop.py\ndef pay(): ...\n{files}")
    text = reply_to(index, "What calls pay?").text
    assert "`pay` is called at 18 locations in 3 files" in text
    shown, folded = text.split("<details><summary>12 more</summary>\n\n")
    assert re.findall(r"^- (\w+\.py):", shown, re.MULTILINE) == ["a.py"] * 3 + ["b.py"] * 3
    assert re.fullmatch(r"(- [\w/]+\.py:\d+-\d+\n){12}\n</details>", folded.partition("\n\nshop.py")[0])


def test_a_list_that_is_cut_says_how_many_locations_it_leaves_out():
    calls = "".join(f"def f{n}():\n    pay()\n" for n in range(80))
    text = reply_to(index_of(f"#- shop.py\ndef pay(): ...\n{calls}"), "What calls pay?").text
    assert "<summary>74 more</summary>" in text and "\n- 20 more that are not listed\n" in text


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
