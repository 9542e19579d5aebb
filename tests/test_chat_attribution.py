"""Lines for answers that cite none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from weft.codegraph import parse_file
from weft.retrieval import RepositoryIndex, slice_file
from weft.server.chat.attribution import MOST_LINES, attributed
from weft.server.chat.sources import Sources
from weft.server.chat.support import is_supported, read_claim
from weft.server.chat.values import EvidenceItem, EvidenceSet

PRICE = """\
def total_price(items, currency):
    rate = RATES[currency]
    return rate * sum(items)


def discount(total):
    return total * 0.9
"""
BASKET = 'def pay(items):\n    return total_price(items, "EUR")\n'
FILES = {"shop/price.py": PRICE, "shop/basket.py": BASKET}
INDEX = RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in FILES.items())
ITEMS = (
    EvidenceItem("definition", "shop/price.py", 0, 3, "\n".join(PRICE.split("\n")[:3]), 3.0, symbol="total_price"),
    EvidenceItem("definition", "shop/price.py", 5, 7, "\n".join(PRICE.split("\n")[5:7]), 2.0, symbol="discount"),
    EvidenceItem("code", "shop/basket.py", 0, 2, BASKET.rstrip("\n"), 1.0, symbol="pay"),
    EvidenceItem("turn", "conversation 1", 0, 0, "total_price is a rate", 1.0),
)
EVIDENCE = EvidenceSet("what is the price?", ITEMS)
SOURCES = Sources({"": INDEX}, ITEMS)


def places(text):
    return [each.citation.location for each in attributed(text, EVIDENCE, SOURCES)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`total_price` multiplies the sum by a rate of the currency.", ["shop/price.py:1-1"]),
        (
            "`discount` takes the total times 0.9. And `pay` returns the price.",
            ["shop/price.py:6-6", "shop/basket.py:1-1"],
        ),
        ("It returns `rate * sum(items)` at last.", ["shop/price.py:3-3"]),
        ("```python\ndef pay(items):\n    return total_price(items, 'EUR')\n```\n", ["shop/basket.py:1-2"]),
        ("It multiplies the sum by a rate.", []),
        ("`refund_customer` gives the sum back.", []),
        ("It returns `rate ** sum(items)` at last.", []),
        ("", []),
    ],
)
def test_a_sentence_gets_the_lines_that_hold_what_it_names_or_quotes(text, expected):
    assert places(text) == expected


def test_a_place_stands_once():
    assert places("`discount` is 0.9. The total of `discount` is 0.9.") == ["shop/price.py:6-6"]


@given(
    st.lists(st.sampled_from(["`total_price`", "discount", "`rate * sum`", "0.9", ". ", " ", "\n", "pay()", "```\n"]))
)
def test_whatever_is_said_its_lines_exist_and_hold_it(words):
    for each in attributed("".join(words), EVIDENCE, SOURCES):
        citation = each.citation
        lines = FILES[citation.path].split("\n")[citation.start_line : citation.end_line]
        assert citation.text == "\n".join(lines) and 0 < len(lines) <= MOST_LINES
        item = next(e for e in ITEMS if e.path == citation.path and e.start_line <= citation.start_line < e.end_line)
        claim = read_claim("", "", each.sentence) if "```" in each.sentence else read_claim(each.sentence, "")
        assert "```" in each.sentence or is_supported(claim, item.text.split("\n"), (item.symbol,))
