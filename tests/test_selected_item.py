"""The selected item of the editor's completion list (LSP 3.18): the completion continues it, as if it were accepted."""

from __future__ import annotations

from typing import Any

from conftest import WHOLE_TEXTS
from lsprotocol import types
from weft.server.completion.cache import CursorContext
from weft.server.completion.values import SelectedItem
from weft.server.workspace.text import Cursor, TextLines

FILES = """
    #- price.py
    def total_price(items, tax):
        return sum(item.price for item in items) * tax


    def total_weight(crates):
        return sum(crate.weight for crate in crates)
    #- shop.py
    from price import total_price, total_weight


    def pay(items, tax):
        return total_price(items, tax)


    def ship(crates):
        return total_weight(crates)
    #- cart.py
    from price import total_price, total_weight


    def pay(items, tax):
        return total_price(items, tax)


    def ship(crates):
        return total_weight(crates)


    def label(crates):
        return "🦩🦩", total_weight(crates)
    """
ABOVE = "from price import total_price, total_weight\n\n\ndef ship(crates):\n"
LINE, START = 4, 11
TYPED = ABOVE + "    return tot"
END = START + 3
WEIGHT = "total_weight(crates)"


def cursor(text: str) -> Cursor:
    lines = TextLines(text.replace("|", ""))
    return Cursor("shop.py", lines, *lines.position(text.index("|")))


def selected(text: str, start: int, end: int, line: int = 0) -> SelectedItem:
    return SelectedItem(text, line, start, end)


async def ask(editor: Any, text: str, *, start=(LINE, START), end=(LINE, END), at=(LINE, END), kind=2, name="new.py"):
    """The items for a selected item with this text."""
    chosen = types.SelectedCompletionInfo(types.Range(types.Position(*start), types.Position(*end)), text)
    context = types.InlineCompletionContext(types.InlineCompletionTriggerKind(kind), chosen)
    identifier = types.TextDocumentIdentifier(editor.uri(name))
    params = types.InlineCompletionParams(context, identifier, types.Position(*at))
    answer = await editor.within(editor.client.text_document_inline_completion_async(params))
    return answer.items


def column_range(item: types.InlineCompletionItem) -> tuple[int, int, int]:
    return item.range.start.line, item.range.start.character, item.range.end.character


def test_the_completion_begins_with_the_selected_item_and_replaces_its_range(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", TYPED)
        (item,) = await ask(editor, "total_weight")
        assert item.insert_text == WEIGHT and column_range(item) == (LINE, START, END)
        for name in ("total_price", "total_weight"):
            items = await ask(editor, name, kind=1)
            assert len(items) > 1 and all(item.insert_text.startswith(name) for item in items)
            assert items[0].insert_text.startswith(f"{name}(")
            assert {column_range(item) for item in items} == {(LINE, START, END)}

    editing(FILES, story, options=WHOLE_TEXTS)


def test_after_the_item_is_accepted_the_same_completion_goes_on_and_the_real_text_has_its_own(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", TYPED)
        before = await editor.complete("new.py", LINE, END)
        item, *_ = await ask(editor, "total_price", kind=1)
        again = await editor.complete("new.py", LINE, END)
        assert again.insert_text == before.insert_text == WEIGHT[3:]
        editor.insert("new.py", LINE, END, "al_price")
        rest = await editor.complete("new.py", LINE, END + len("al_price"))
        assert "total_price" + rest.insert_text == item.insert_text
        (argument,) = rest.command.arguments
        assert argument["source"] == "cache"

    editing(FILES, story, options=WHOLE_TEXTS)


def test_a_range_of_a_whole_word_is_no_place_inside_a_word(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", TYPED + "al")
        assert await editor.complete("new.py", LINE, END, invoked=False) is None
        (item,) = await ask(editor, "total_weight", end=(LINE, END + 2))
        assert item.insert_text == WEIGHT and column_range(item) == (LINE, START, END + 2)
        assert not await ask(editor, "total_weight"), "the rest of the word stays behind the item"

    editing(FILES, story, options=WHOLE_TEXTS)


def test_a_range_that_makes_no_sense_is_ignored(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", TYPED)
        plain = await editor.complete("new.py", LINE, END)
        for bad in (
            {"start": (LINE, 0), "end": (LINE, 4)},  # before the cursor
            {"end": (LINE, END + 40)},  # past the end of the line
            {"start": (LINE + 3, 0), "end": (LINE + 3, 2)},  # past the end of the document
            {"start": (LINE - 1, 0)},  # of several lines
            {"start": (LINE, END), "end": (LINE, START)},  # reversed
            {"text": ""},
        ):
            items = await ask(editor, **{"text": "total_weight", "kind": 1, **bad})
            assert items[0].insert_text == plain.insert_text, bad

    editing(FILES, story, options=WHOLE_TEXTS)


def test_columns_are_in_the_encoding_of_the_client(editing):
    async def story(editor):
        await editor.indexed()
        editor.open("new.py", ABOVE + '    return "🦩🦩", tot')
        start = len('    return "🦩🦩", ') + 2
        end = LINE, start + 3
        item, *_ = await ask(editor, "total_weight", start=(LINE, start), end=end, at=end, kind=1)
        assert item.insert_text == WEIGHT and column_range(item) == (LINE, start, start + 3)

    editing(FILES, story, options=WHOLE_TEXTS)


def test_an_item_of_several_lines_moves_the_cursor_of_the_completion():
    item = selected("open(x) as f:\n    f.", 5, 7)
    after = item.accepted(cursor("with op|\nrest"))
    assert (after.prefix, after.suffix, after.line) == ("with open(x) as f:\n    f.", "\nrest", 1)


def test_of_an_item_with_braces_the_text_is_taken_as_it_is():
    after = selected("print($0)", 0, 3).accepted(cursor("pri|"))
    assert after.prefix == "print($0)"


def test_a_running_generation_goes_on_while_the_selected_item_is_typed():
    context = CursorContext.of(selected("total_weight", 4, 7).accepted(cursor("x = tot|\ny")))
    for typed in ("tot", "tota", "total_weigh"):
        assert context.typed_in(TextLines(f"x = {typed}\ny")) == ("",)
    assert context.typed_in(TextLines("x = total_weight(\ny")) == ("(",)
    for other in ("x = tox\ny", "z = tot\ny", "x = tot\nz", "x = \nyy"):
        assert context.typed_in(TextLines(other)) == ()
