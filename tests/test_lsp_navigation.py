"""Navigation by the code graph: offered and answered with the setting alone, in the client's columns."""

from __future__ import annotations

from typing import Any

from lsprotocol import types

FILES = """
#- shop/price.py
class Price:
    def total(self, items):
        return sum(items)
#- shop/basket.py
from shop.price import Price


def pay(price: Price):
    return "🦘", price.total([1])
"""

ON = {"weft": {"navigation": {"enabled": True}}}


def at(editor: Any, path: str, line: int, character: int) -> tuple[types.TextDocumentIdentifier, types.Position]:
    return types.TextDocumentIdentifier(editor.uri(path)), types.Position(line, character)


def test_definitions_references_symbols_and_calls(editing):
    async def story(editor: Any) -> None:
        offered = editor.result.capabilities
        assert offered.definition_provider and offered.references_provider and offered.call_hierarchy_provider
        await editor.indexed()
        editor.open("shop/basket.py")
        client = editor.client
        here = at(editor, "shop/basket.py", 4, 26)  # in UTF-16 after the emoji, inside of `total`
        [found] = await client.text_document_definition_async(types.DefinitionParams(*here))
        assert found.uri == editor.uri("shop/price.py")
        assert (found.range.start.line, found.range.start.character, found.range.end.character) == (1, 8, 13)
        context = types.ReferenceContext(include_declaration=False)
        [used] = await client.text_document_references_async(types.ReferenceParams(context, *here))
        assert (used.uri, used.range.start) == (editor.uri("shop/basket.py"), types.Position(4, 23))
        [item] = await client.text_document_prepare_call_hierarchy_async(types.CallHierarchyPrepareParams(*here))
        assert (item.name, item.kind) == ("Price.total", types.SymbolKind.Method)
        [calling] = await client.call_hierarchy_incoming_calls_async(types.CallHierarchyIncomingCallsParams(item))
        assert (calling.from_.name, calling.from_ranges[0].start) == ("pay", types.Position(4, 23))
        outgoing = types.CallHierarchyOutgoingCallsParams(calling.from_)
        assert [each.to.name for each in await client.call_hierarchy_outgoing_calls_async(outgoing)] == ["Price.total"]
        document = types.TextDocumentIdentifier(editor.uri("shop/price.py"))
        [symbol] = await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert (symbol.name, [child.name for child in symbol.children]) == ("Price", ["total"])
        begun = await client.workspace_symbol_async(types.WorkspaceSymbolParams("pa"))
        assert [each.name for each in begun] == ["pay"]

    editing(FILES, story, options=ON)


def test_without_the_setting_nothing_is_offered_or_answered(editing):
    async def story(editor: Any) -> None:
        offered = editor.result.capabilities
        assert not offered.definition_provider and not offered.workspace_symbol_provider
        await editor.indexed()
        editor.open("shop/basket.py")
        here = at(editor, "shop/basket.py", 4, 26)
        assert await editor.client.text_document_definition_async(types.DefinitionParams(*here)) == []
        assert await editor.client.text_document_prepare_call_hierarchy_async(
            types.CallHierarchyPrepareParams(*here)
        ) in (None, [])

    editing(FILES, story)


def test_the_outline_is_that_of_the_unsaved_text(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()
        editor.open("shop/price.py")
        editor.insert("shop/price.py", 0, 0, "def rebate():\n    return 0\n\n\n")
        document = types.TextDocumentIdentifier(editor.uri("shop/price.py"))
        found = await editor.client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert [(each.name, each.range.start.line) for each in found] == [("rebate", 0), ("Price", 4)]

    editing(FILES, story, options=ON)
