"""`:WeftSearch` in the real Neovim: hits in the quickfix list, and what is said without one."""

from __future__ import annotations

import pytest

LIST = "return vim.fn.getqflist({ title = 1, items = 1 })"


@pytest.fixture
def shop(shop):
    yield shop
    shop.nv.command("silent! cclose | silent! only!")


def listed(nv, query):
    """The items of the quickfix list of a query, when it is there."""
    nv.wait(lambda: nv.lua(LIST)["title"] == f"Weft: {query}", f"the hits of {query}")
    return nv.lua(LIST)["items"]


@pytest.mark.parametrize("command", ["WeftSearch", "Weft search"])
def test_hits_are_in_the_quickfix_list_best_first(shop, command):
    shop.edit("part_0.py")
    shop.ready()
    shop.nv.command("cclose | call setqflist([], 'r', {'title': ''})")  # of the test before
    shop.nv.command(f"{command} handle_3")
    (first,) = listed(shop, "handle_3")
    assert (first["lnum"], first["text"]) == (5, "handle_3 (function)  def handle_3(basket):")
    assert shop.nv.current.buffer.options["buftype"] == "quickfix"
    shop.keys("<CR>")
    shop.wait(lambda: shop.nv.current.buffer.name.endswith("part_3.py"), "the file of the hit")
    assert shop.nv.current.window.cursor[0] == 5


def test_without_a_query_it_takes_the_word_under_the_cursor_and_without_a_hit_it_says_so(shop):
    shop.edit("part_1.py")
    shop.ready()
    shop.keys("5Gw")
    shop.nv.command("WeftSearch")
    assert listed(shop, "handle_1")[0]["lnum"] == 5
    shop.lua("_G.notices = {}")
    shop.nv.command("WeftSearch zebra")
    shop.wait(shop.notices, "a notice")
    assert shop.notices()[0].startswith("Weft: Nothing matches zebra.")
    assert shop.lua(LIST)["title"] == "Weft: handle_1"
