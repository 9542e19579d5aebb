"""Citations: a place is shown only if its lines exist and hold what is said of them."""

from __future__ import annotations

import textwrap
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, slice_file
from weft.server.chat.citation_parsing import find_mentions
from weft.server.chat.citations import CheckedStream, check
from weft.server.chat.sources import Sources
from weft.server.chat.values import EvidenceItem, EvidenceSet

FILES = {
    "shop/price.py": """\
        '''Prices.'''

        RATES = {"EUR": 1.0, "USD": 1.1}


        def total_price(items, currency):
            rate = RATES[currency]
            return rate * sum(item.price for item in items)


        def discount(total):
            if total > 100:
                return 0.9 * total
            return total
        """,
    "shop/basket.py": """\
        from shop.price import discount, total_price


        class Basket:
            def pay(self):
                total = total_price(self.items, "EUR")
                return discount(total)
        """,
    "docs/guide.md": """\
        # Guide

        A basket over one hundred euros is ten percent cheaper.
        """,
    "other/price.py": "VAT = 0.19\n",
    "Makefile": "test:\n\tpytest\n",
}


def index_of(files: dict[str, str]) -> RepositoryIndex:
    texts = {path: textwrap.dedent(text) for path, text in files.items()}
    return RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in texts.items())


INDEX = index_of(FILES)
ITEMS = (
    EvidenceItem("code", "shop/price.py", 5, 8, INDEX.texts["shop/price.py"].decode().split("\n\n\n")[1], 2.0),
    EvidenceItem("document", "docs/guide.md", 0, 3, "", 1.0),
    EvidenceItem("turn", "conversation 3f2a", 0, 2, "What is a discount?", 0.5),
)
EVIDENCE = EvidenceSet("How is the total price computed?", ITEMS)
SOURCES = Sources({"": INDEX}, ITEMS)


def checked(text: str, evidence: EvidenceSet = EVIDENCE):
    return check(text, Sources({"": INDEX}, evidence.items), evidence)


def kept(text: str) -> str:
    """What comes of a text all of whose citations hold."""
    result = checked(text)
    assert not result.n_dropped, result
    return result.text


def dropped(text: str) -> str:
    """What comes of a text none of whose citations hold."""
    result = checked(text)
    assert result.n_dropped and not result.citations, result
    return result.text


@pytest.mark.parametrize(
    "written",
    [
        "shop/price.py:6-8",
        "./shop/price.py:6-8",
        "shop\\price.py:6-8",
        "shop/price.py#L6-L8",
        "shop/price.py:L6-L8",
        "shop/price.py lines 6 to 8",
        "shop/price.py, lines 6-8",
        "shop/price.py (lines 6\N{EN DASH}8)",
        "lines 6 to 8 of shop/price.py",
        "lines 6-8 in the file shop/price.py",
        "[the function](shop/price.py#L6-L8)",
        "[shop/price.py](shop/price.py#L6-L8)",
        "[price](./shop/price.py:6-8)",
        "6:8:shop/price.py",
        "https://example.org/o/r/blob/main/shop/price.py#L6-L8",
        "**shop/price.py**:6-8",
    ],
)
def test_a_place_is_known_however_it_is_written(written):
    result = checked(f"The rate times the sum is in {written}.")
    assert [citation.location for citation in result.citations] == ["shop/price.py:6-8"]
    assert result.n_dropped == result.n_corrected == 0
    assert "shop/price.py:6-8" in result.text and result.text.endswith(".")


def test_marks_around_a_place_stay():
    assert kept("`total_price` is in `shop/price.py:6-8`.") == "`total_price` is in `shop/price.py:6-8`."
    assert kept("`total_price` is in `shop/price.py` lines 6-8.") == "`total_price` is in `shop/price.py:6-8`."
    assert kept("See total_price (shop/price.py, line 6).") == "See total_price (shop/price.py:6-6)."


def test_a_number_of_the_evidence_becomes_its_place():
    assert kept("The sum is multiplied by a rate [1].") == "The sum is multiplied by a rate (shop/price.py:6-8)."
    assert kept("As [1] shows, items have a price.") == "As shop/price.py:6-8 shows, items have a price."
    assert dropped("Nothing of the kind [9].") == "Nothing of the kind."


def test_a_number_in_code_is_no_evidence():
    assert kept("Take `items[1]` or:\n```\nx = a[1]\n```\n") == "Take `items[1]` or:\n```\nx = a[1]\n```\n"


def test_a_past_turn_has_no_lines_to_open():
    result = checked("You asked what a discount is [3].")
    assert result.text == "You asked what a discount is (said earlier)." and not result.citations


def test_a_file_may_be_named_by_its_end_where_only_one_ends_so():
    assert kept("A `Basket` pays in basket.py:4-7.") == "A `Basket` pays in shop/basket.py:4-7."
    # Of two with that name it is the one that the evidence shows.
    assert kept("`total_price` is in price.py:6-8.") == "`total_price` is in shop/price.py:6-8."
    nothing_shown = checked("`total_price` is in price.py:6-8.", EvidenceSet("?", ()))
    assert (nothing_shown.text, nothing_shown.n_dropped) == ("`total_price` is.", 1)


def test_a_name_without_an_ending_is_a_file_when_there_is_one():
    assert kept("The test runs pytest (Makefile:1-2).") == "The test runs pytest (Makefile:1-2)."
    assert kept("The ratio:3 is no place, nor is localhost:8080 or 10:30.")


@pytest.mark.parametrize(
    "text",
    [
        "The total is computed in shop/money.py:6-8.",  # no such file
        "`total_price` is in shop/price.py:90-95.",  # no such lines
        "The guide greets penguins in docs/guide.md:1-3.",  # lines that say something else
        "It raises `ValueError` for `x = 1` (shop/price.py:6-8).",  # code that does not stand there
    ],
)
def test_what_does_not_hold_is_dropped_and_counted(text):
    result = checked(text)
    assert (result.citations, result.n_dropped) == ((), 1)
    assert ".py" not in result.text and ".md" not in result.text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("The penguin swims (shop/basket.py:1-3).", "The penguin swims."),
        ("The penguin swims (see `shop/basket.py:1-3`), and dives.", "The penguin swims, and dives."),
        ("The penguin swims in shop/basket.py:1-3.", "The penguin swims."),
        ("The penguin swims, see the file shop/basket.py:1-3.", "The penguin swims."),
        ("In shop/basket.py:1-3, the penguin swims.", "the penguin swims."),
        ("- `shop/basket.py:1-3`: the penguin swims\n", "- the penguin swims\n"),
        ("- shop/money.py:1\n- fish\n", "- fish\n"),
        ("The penguin swims: shop/basket.py:1-3", "The penguin swims"),
        ("shop/basket.py:1-3 makes penguins swim.", "the code makes penguins swim."),
        ("Penguins swim [the pool](shop/basket.py#L1-L3) daily.", "Penguins swim the pool daily."),
        ("Penguins swim [7][8].", "Penguins swim."),
    ],
)
def test_nothing_broken_is_left_where_a_citation_was(text, left):
    assert dropped(text) == left


def test_of_several_in_brackets_those_that_hold_stay():
    result = checked("`total_price` multiplies (shop/price.py:6-8, docs/guide.md:1-3).")
    assert result.text == "`total_price` multiplies (shop/price.py:6-8)."
    result = checked("`total_price` multiplies (docs/guide.md:1-3, shop/price.py:6-8).")
    assert result.text == "`total_price` multiplies (shop/price.py:6-8)."
    assert (len(result.citations), result.n_dropped) == (1, 1)


def test_each_of_two_citations_is_held_to_its_own_part_of_the_sentence():
    right = "`discount` is in shop/price.py:11-14 and `pay` in shop/basket.py:5-7."
    assert kept(right) == right
    wrong = checked("Penguins swim in shop/price.py:11-14 and `pay` is in shop/basket.py:5-7.")
    assert [citation.path for citation in wrong.citations] == ["shop/basket.py"]


def test_a_place_that_stands_alone_is_held_to_the_sentence_before():
    assert kept("The total is discounted above 100. (shop/price.py:11-14)")
    assert dropped("The penguin swims. (shop/price.py:11-14)") == "The penguin swims. "
    # The first sentence answers what was asked.
    assert kept("shop/price.py:6-8") == "shop/price.py:6-8"


def test_a_citation_that_is_off_by_a_few_lines_is_put_right():
    quoted = checked("A large total gets cheaper: `return 0.9 * total` (shop/price.py:10).")
    assert quoted.text.endswith("(shop/price.py:13-13).")
    named = checked("`discount` makes it cheaper (shop/price.py:12-14).")
    assert named.citations[0].location == "shop/price.py:11-14"
    beyond = checked("`discount` ends the file (shop/price.py:11-16).")
    assert beyond.citations[0].location == "shop/price.py:11-14"
    backwards = checked("`discount` ends the file (shop/price.py:14-11).")
    assert backwards.citations[0].location == "shop/price.py:11-14"
    from_nothing = checked("`RATES` are in shop/price.py:0-3.")
    assert from_nothing.citations[0].location == "shop/price.py:1-3"
    assert quoted.n_corrected == beyond.n_corrected == backwards.n_corrected == from_nothing.n_corrected == 1


def test_quoted_code_must_stand_in_the_lines():
    right = "The sum is weighed, shop/price.py:6-8:\n```python\nrate = RATES[currency]\n```\nDone.\n"
    assert kept(right) == right
    wrong = "The sum is weighed, shop/price.py:6-8:\n\n```python\npenguin = swim(pool)\ndive(2)\n```\n"
    assert dropped(wrong) == "The sum is weighed:\n\n```python\npenguin = swim(pool)\ndive(2)\n```\n"


def test_a_place_inside_a_fenced_block_is_checked_by_the_code_there():
    right = "```python\n# shop/price.py:11-14\ndef discount(total):\n    if total > 100:\n```\n"
    assert kept(right) == right
    wrong = "```python\n# shop/price.py:11-14\ndef swim(pool):\n    dive(2)\n```\n"
    assert dropped(wrong) == "```python\ndef swim(pool):\n    dive(2)\n```\n"


def test_lines_without_a_file_are_of_the_file_that_was_cited_last():
    text = "`total_price` is in shop/price.py:6-8. The `discount` follows in lines 11-14."
    assert kept(text) == "`total_price` is in shop/price.py:6-8. The `discount` follows in shop/price.py:11-14."
    assert kept("It prints line 3 of the output.") == "It prints line 3 of the output."


def test_files_that_are_not_there_are_named():
    result = checked("Look at `shop/money.py`, at docs/guide.md and at `price.py`, and use node.js and/or asyncio.")
    assert result.unknown_files == ("shop/money.py",)


def test_a_very_long_span_holds_anything_and_so_nothing():
    long = index_of({"a.py": "".join(f"x{n} = {n}\n" for n in range(500))})
    text = "The value of `x7` is 7 (a.py:1-500)."
    assert check(text, Sources({"": long}), EVIDENCE).n_dropped == 1


def test_a_file_of_the_evidence_that_no_index_holds_can_be_cited_where_it_is_shown():
    manual = EvidenceItem("document", "manual.pdf", 40, 42, "The pump starts\nat five bar.", 1.0)
    evidence = EvidenceSet("When does the pump start?", (manual,))
    assert checked("The pump starts at five bar (manual.pdf:41-42).", evidence).n_dropped == 0
    assert checked("The pump starts at five bar (manual.pdf:1-2).", evidence).n_dropped == 1


def test_a_path_with_blanks_is_cited_by_its_number_alone():
    texts = index_of({"my docs/read me.md": "The pump starts at five bar.\n"})
    items = (EvidenceItem("document", "my docs/read me.md", 0, 1, "The pump starts at five bar.", 1.0),)
    sources, evidence = Sources({"": texts}, items), EvidenceSet("When does the pump start?", items)
    by_number = check("The pump starts at five bar [1].", sources, evidence)
    assert by_number.text == "The pump starts at five bar (my docs/read me.md:1-1)." and not by_number.n_dropped
    # Known to be wrong: the blank parts the path in two.
    assert check("The pump starts at five bar (my docs/read me.md:1).", sources, evidence).n_dropped == 1


def test_chinese_sentences_are_held_to_names_and_to_pairs_of_characters():
    chinese = index_of({"价格.md": "# 价格\n\n购物篮超过一百欧元可以打九折。\n", "a.py": "def pay():\n    return 1\n"})
    sources = Sources({"": chinese})
    assert check("购物篮超过一百欧元打折，见价格.md:3。", sources, EvidenceSet("?", ())).n_dropped == 0
    assert check("函数 `pay` 在a.py:1-2中定义。", sources, EvidenceSet("?", ())).text == "函数 `pay` 在a.py:1-2中定义。"
    assert check("企鹅会游泳（a.py:1-2）。", sources, EvidenceSet("?", ())).n_dropped == 1


def test_text_is_held_back_only_from_what_may_be_a_citation():
    stream = CheckedStream(SOURCES, EVIDENCE)
    assert stream.feed("The total is the sum ") == "The total is the sum"
    assert stream.feed("of all prices (see sho") == " of all prices"
    assert stream.feed("p/price.py:6-8) times") == ""
    assert stream.feed(" a rate. An") == " (see shop/price.py:6-8) times a rate. "
    assert stream.finish() == "An"


def test_a_fenced_block_without_places_comes_line_by_line():
    stream = CheckedStream(SOURCES, EVIDENCE)
    assert stream.feed("```python\nx = items[1]\ny") == "```python\nx = items[1]\n"
    assert stream.feed(" = 2\n```\n") == "y = 2\n```\n"


# fmt: off
PIECES = st.one_of(
    st.text(max_size=12),
    st.sampled_from([
        "shop/price.py", "price.py", "docs/guide.md", "a.py", ":6-8", ":1", "#L3-L5", " lines 6 to 8", "[1]", "[2, 7]",
        "`", "```\n", "(", ")", "[", "](", ". ", "\n", " in ", " see ", "total_price", "discount", "def ", "the price",
        "6:8:", "https://", "Makefile", ", ", "- ", "\r", "line 3", " of ", "**", "。", "在",
    ]),
)
# fmt: on
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@given(TEXTS)
def test_no_place_comes_out_that_was_not_checked(text):
    result = check(text, SOURCES, EVIDENCE)
    places = {citation.location for citation in result.citations}
    for mention in find_mentions(result.text, SOURCES.is_file, lambda _: True):
        if mention.path:
            assert {f"{mention.path}:{first}-{last}" for first, last in mention.spans} <= places, result


@given(TEXTS)
def test_citations_resolve_and_hold_what_they_say_they_hold(text):
    for citation in check(text, SOURCES, EVIDENCE).citations:
        lines = INDEX.texts[citation.path].decode().split("\n")
        assert 0 <= citation.start_line < citation.end_line <= INDEX.n_lines_of(citation.path)
        assert citation.text == "\n".join(lines[citation.start_line : citation.end_line])


@given(TEXTS, st.lists(st.integers(0, 300), max_size=12))
def test_a_stream_gives_what_the_whole_text_gives(text, cuts):
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = CheckedStream(SOURCES, EVIDENCE)
    pieces = [stream.feed(text[start:end]) for start, end in pairwise(edges)]
    assert "".join(pieces) + stream.finish() == check(text, SOURCES, EVIDENCE).text


@given(st.text(st.sampled_from("abc .,\n()`-")))
def test_a_text_without_places_stays_as_it_is(text):
    assert check(text, SOURCES, EVIDENCE).text == text
