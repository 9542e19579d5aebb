"""Next edits of lists that go together."""

import pytest
from next_edit_cases import after, offers
from weft.server.next_edit.suggest import suggest

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
                'use.py:8:0  ->         case Kind.GIFT:\n            return "gift"\n',
                'words.json:4:0  ->   "gift": "Gift"\n',
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
                'use.py:8:0  ->         case Kind.GIFT:\n            return "gift"\n',
                'words.json:4:0  ->   "gift": "Gift"\n',
            ],
            id="an entry of a table",
        ),
        pytest.param(("    CARD = 2\n", "    CARD = 3\n"), [], id="a changed value"),
        pytest.param(("class Till:", "class Desk:"), [], id="a renamed class"),
    ],
)
def test_a_new_item_is_offered_where_its_neighbours_stand(edit, expected):
    assert sorted(offers(after(SHOP, "kinds.py", edit))) == sorted(expected)


LISTS = """
    #- colours.py
    NAMES = [
        "red",
        "green",
        "blue",
        "grey",
    ]
    skip_one = mark(1)
    skip_two = mark(2)
    skip_three = mark(3)
    #- use.py
    def show(name):
        paint("red")
        paint("green")
        paint("blue")
        paint("grey")
    ORDER = ["green", "red", "grey", "blue"]
    ROW = ("red", "green", "blue", "grey")
    @skip_one
    @skip_two
    @skip_three
    def test(): ...
    #- words.json
    {
      "red": "rouge",
      "green": "vert",
      "blue": "bleu",
      "grey": "gris"
    }
    """


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        pytest.param(
            ('    "green",\n', '    "green",\n    "pink",\n'),
            ['use.py:4:0  ->     paint("pink")\n', 'use.py:7:21  -> , "pink"'],
            id="an item in lists of the same order, and none whose text is not known",
        ),
        pytest.param(
            ('    "green",\n', ""),
            [
                'use.py:3:0     paint("green")\n -> ',
                'use.py:7:12 , "green" -> ',
                'words.json:3:0   "green": "vert",\n -> ',
            ],
            id="a removed item",
        ),
        pytest.param(
            ("skip_three = mark(3)\n", "skip_three = mark(3)\nskip_four = mark(4)\n"),
            ["use.py:11:0  -> @skip_four\n"],
            id="a value and decorators",
        ),
    ],
)
def test_an_item_goes_into_lists_and_out_of_them_with_its_neighbours(edit, expected):
    situation = after(LISTS, "colours.py", edit)
    found = [each for each in suggest(situation, 20, 0.35) if each.kind == "list"]
    assert [f"{each.path}:{each.start[0] + 1}:{each.start[1]} {each.old} -> {each.new}" for each in found] == expected


IMPORTS = """
    #- one.py
    from doors import (
        blue,
        green,
        red,
    )
    #- two.py
    from doors import (
        blue,
        green,
        red,
    )
    ORDER = [
        blue,
        green,
        red,
    ]
    """


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        pytest.param("one.py", "    green,\n", "    green,\n    pink,\n", id="a new import"),
        pytest.param("one.py", "    green,\n", "", id="a removed one"),
    ],
)
def test_imports_are_no_sister_lists(path, old, new):
    assert offers(after(IMPORTS, path, (old, new))) == []
