"""Next edits of lists that go together."""

import pytest
from next_edit_cases import after, offers

SHOP = """
    #- kinds.py
    from enum import Enum
    __all__ = ["Kind", "Door", "Till"]
    class Kind(Enum):
        CASH = 1
        CARD = 2
    COLOURS = {
        Kind.CASH: "green",
        Kind.CARD: "blue",
    }
    class Door:
        pass
    class Till:
        pass
    #- use.py
    from kinds import Kind
    def show(kind):
        match kind:
            case Kind.CASH:
                return "cash"
            case Kind.CARD:
                return "card"
    #- words.json
    {
      "cash": "Cash",
      "card": "Card"
    }
    """


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        pytest.param(
            ("    CARD = 2\n", "    CARD = 2\n    GIFT = 3\n"),
            [
                'kinds.py:10:0  ->     Kind.GIFT: "blue",\n',
                'use.py:8:0  ->         case Kind.GIFT:\n            return "card"\n',
                'words.json:4:0  ->   "gift": "Card"\n',
            ],
            id="a member of an enumeration",
        ),
        pytest.param(
            ("class Till:\n    pass\n", "class Till:\n    pass\nclass Desk:\n    pass\n"),
            ['kinds.py:2:33  -> , "Desk"'],
            id="a class and the list of exports",
        ),
        pytest.param(
            ('    Kind.CARD: "blue",\n', '    Kind.CARD: "blue",\n    Kind.GIFT: "red",\n'),
            [
                "kinds.py:6:0  ->     GIFT = 2\n",
                'use.py:8:0  ->         case Kind.GIFT:\n            return "card"\n',
                'words.json:4:0  ->   "gift": "Card"\n',
            ],
            id="an entry of a table",
        ),
        pytest.param(("    CARD = 2\n", "    CARD = 3\n"), [], id="a changed value"),
    ],
)
def test_a_new_item_is_offered_where_its_neighbours_stand(edit, expected):
    assert offers(after(SHOP, "kinds.py", edit)) == expected
