"""Searches from an editor at the real server: hits with links, unsaved edits, filters, errors and cancellation."""

from __future__ import annotations

from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

FILES = """
#- shop/price.py
RATES = {"EUR": 1.0}


def total_price(items, currency):
    return RATES[currency] * sum(items)
#- shop/basket.py
from shop.price import total_price


def pay(items):
    return total_price(items, "EUR")
#- docs/pay.md
# How to pay

A basket is paid in euros.
"""


def test_hits_have_links_and_follow_edits_and_filters(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()

        async def search(query: str, **params: Any) -> Any:
            return await editor.request("weft/search", {"query": query, **params})

        found = await search("total_price", limit=2)
        first, second = found.hits
        assert (first.symbol, first.kind, first.place) == ("total_price", "function", "shop/price.py:4-5")
        assert (first.uri, first.range.start.line) == (editor.uri("shop/price.py"), 3)
        assert first.preview == "def total_price(items, currency):" and found.notes == []
        assert second.path == "shop/basket.py"
        assert sum(part.value for part in first.parts) == pytest.approx(first.score)
        assert [hit.kind for hit in (await search("pay", kinds=["document"])).hits] == ["section"]
        assert {hit.path for hit in (await search("pay", paths=["!docs"], languages=["python"])).hits} == {
            "shop/basket.py"
        }
        editor.open("shop/basket.py")
        editor.insert("shop/basket.py", 4, 0, "    quokka = 1\n")
        assert [hit.preview for hit in (await search("quokka")).hits] == ["quokka = 1"]
        nothing = await search("zebra")
        assert nothing.hits == [] and nothing.notes[0].startswith("Nothing matches zebra.")

    editing(FILES, story)


def test_mistakes_are_errors_that_list_what_is_known(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()
        for params, message in (
            ({"query": "pay", "languages": ["pyton"]}, "Did you mean python"),
            ({"query": "pay", "kinds": ["thing"]}, "Choose one of function, method"),
            ({"query": "pay", "limit": 0}, "parameters of weft/search"),
            ({"kinds": ["class"]}, "parameters of weft/search"),
        ):
            with pytest.raises(JsonRpcException, match=message) as error:
                await editor.request("weft/search", params)
            assert error.value.code == types.ErrorCodes.InvalidParams

    editing(FILES, story)


def test_a_search_is_answered_once_when_it_is_cancelled(editing):
    async def story(editor: Any) -> None:
        await editor.indexed()
        for number in range(5):
            name = f"search-{number}"
            searching = editor.client.protocol.send_request_async("weft/search", {"query": "pay"}, msg_id=name)
            editor.client.cancel_request(types.CancelParams(name))
            try:
                assert (await editor.within(searching)).hits  # it was faster
            except JsonRpcException as error:
                assert error.code == types.LSPErrorCodes.RequestCancelled
        assert (await editor.request("weft/search", {"query": "pay"})).hits[0].symbol == "pay"

    editing(FILES, story)
