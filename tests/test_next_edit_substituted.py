"""Next edits after a name was replaced where it is used."""

import pytest
from next_edit_cases import after, offers, offers_of
from weft.server.next_edit.substituted import substituted
from weft.server.next_edit.suggest import suggest
from weft.server.next_edit.values import Origin

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

BANK = """
    #- bank.py
    from doc import plain
    def one(total):
        result = plain(total)
        return result
    def two(total):
        result = plain(total, 1) + plain(total, 2)
        print("plain text")
        return result
    def three(plain):
        return plain.text
    #- near.py
    def four(result):
        return plain(result)
    """

WORDS = """
    #- words.py
    def one():
        return "a reversable word"
    def two():
        return "the reversable word"
    reversable = 1
    """


@pytest.mark.parametrize(
    ("repository", "path", "edits", "expected"),
    [
        pytest.param(
            SHOP,
            "shop.py",
            [("plain = 3", "rich = 3")],
            ["shop.py:8:24 plain -> rich"],
            id="a name that was declared is a rename",
        ),
        pytest.param(
            SHOP,
            "shop.py",
            [("doc.plain(x, plain)", "doc.rich(x, plain)"), ("doc.plain(x, 2)", "doc.rich(x, 2)")],
            ["shop.py:5:15 plain -> rich", "shop.py:3:15 plain -> rich"],
            id="those above when there are none below",
        ),
        pytest.param(SHOP, "shop.py", [("doc.plain(x, 1)", "doc.plain(x, 3)")], [], id="a number is no name"),
        pytest.param(
            BANK,
            "bank.py",
            [("plain(total)\n", "rich(total)\n")],
            ["bank.py:6:13 plain(total, 1) + plain -> rich(total, 1) + rich", "near.py:2:11 plain -> rich"],
            id="all of a line together, then near files, but no other name and no text",
        ),
        pytest.param(
            BANK, "bank.py", [("return result\ndef two", "return answer\ndef two")], [], id="a local name of its scope"
        ),
        pytest.param(
            BANK,
            "bank.py",
            [("plain(total)\n", "rich(total)\n"), ("return plain.text", "return plain.words")],
            [],
            id="nothing after the user went on elsewhere",
        ),
        pytest.param(
            WORDS,
            "words.py",
            [("a reversable", "a reversible")],
            ["words.py:4:16 reversable -> reversible"],
            id="a word of a text in other texts",
        ),
        pytest.param(
            """
            #- types.ts
            type A = Handler<E2, any>
            type B = Answer<any>
            type C = Handler<E3, any>
            type D = Answer<any>
            """,
            "types.ts",
            [("Handler<E2, any>", "Handler<E2, Input>"), ("Handler<E3, any>", "Handler<E3, Input>")],
            [],
            id="none that looks like one that was passed over",
        ),
    ],
)
def test_the_next_places_of_a_replaced_name(repository, path, edits, expected):
    assert offers_of(substituted, after(repository, path, *edits), 0.2) == expected


@pytest.mark.parametrize(("old", "new"), [("True", "False"), ("10", "20"), ("None", "0")])
def test_a_literal_that_was_replaced_is_no_replaced_name(old, new):
    repository = f"#- flags.py\none({old}, a)\ntwo({old}, a)\nthree({old}, a)\n"
    assert offers(after(repository, "flags.py", (f"one({old}", f"one({new}"))) == []


def test_an_offer_says_what_it_follows_from_and_how_it_was_found():
    edits = suggest(after(BANK, "bank.py", ("import plain", "import rich")))
    assert {edit.origin for edit in edits} == {Origin("bank.py", 0)}
    assert edits[0].reason == "`plain` was replaced by `rich` once, last in line 1 of bank.py."
    assert edits[0].evidence == "It is the same name, and `plain` is not declared or imported here any more."
    assert 0.5 < edits[0].confidence <= 0.85


def test_a_place_in_a_text_is_marked():
    (edit,) = suggest(after(WORDS, "words.py", ("a reversable", "a reversible")))
    assert edit.is_marked
