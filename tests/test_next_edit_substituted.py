"""Next edits after a name was replaced where it is used."""

import pytest
from next_edit_cases import after, offers

SHOP = """
    #- shop.py
    import doc
    def one(x):
        return doc.plain(x)
    def two(x):
        return doc.plain(x, 1)
    def three(x):
        plain = 3
        return doc.plain(x, plain)
    def four(x):
        return doc.plain(x, 2), doc.plain
    """


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        pytest.param(
            [("plain = 3", "rich = 3")],
            ["shop.py:8:24 plain -> rich"],
            id="a name that was declared is a rename",
        ),
        pytest.param([("doc.plain(x, 1)", "doc.plain(x, 3)")], [], id="a number is no name"),
    ],
)
def test_the_next_occurrences_of_a_replaced_name(edits, expected):
    assert sorted(offers(after(SHOP, "shop.py", *edits))) == sorted(expected)
