"""Ghost text in the real Neovim: seen, taken in whole or in part, typed along, refused, and never out of place."""

from __future__ import annotations

import pytest

BEGUN = """\
from ledger import open_ledger
from price import price_of


def checkout(basket):
    total = """
TYPED = "pri"
GHOST = "ce_of(basket)"
BLOCK = "ledger.write(total)\n        ledger.close_day()"
INLINE = "textDocument/inlineCompletion"

TAB = """
vim.keymap.set('i', '<Tab>', function()
  if not require('weft').accept() then
    return '<Tab>'
  end
end, { expr = true })
"""


def begin(nv, name, text=BEGUN):
    """A new file that is not saved, its last line open in insert mode."""
    nv.edit(name, text)
    nv.append()


def plug(nv, name):
    """A key for one of the plugin's names."""
    nv.lua("vim.keymap.set('i', '<F5>', ..., { remap = true })", f"<Plug>(weft-{name})")
    nv.keys("<F5>")


def test_ghost_text_from_the_workspace_appears_and_tab_takes_it(shop):
    begin(shop, "taken.py")
    shop.lua(TAB)
    mark = shop.wire.now()
    shop.keys(TYPED)
    shop.shows(GHOST)
    shop.keys("<Tab>")
    shop.has(BEGUN + TYPED + GHOST)
    shop.keys("<Esc>:write<CR>")
    path = shop.folder / "taken.py"
    shop.wait(lambda: path.exists() and path.read_text() == BEGUN + TYPED + GHOST + "\n", "the saved file")
    shown = shop.wire.wait("weft/didShow", after=mark)["message"]["params"]["id"]
    accepted = shop.wire.wait("workspace/executeCommand", after=mark, sender="editor")["message"]["params"]
    assert accepted["command"] == "weft.didAccept" and accepted["arguments"][0]["id"] == shown
    path.unlink()


def test_a_server_that_answers_blanks_is_noticed(shop):
    shop.wire.order(blank=[INLINE])
    begin(shop, "blank.py")
    mark = shop.wire.now()
    shop.keys(TYPED)
    shop.wire.wait(INLINE, after=mark, sender="server")
    with pytest.raises(AssertionError, match="waited for the ghost text"):
        shop.shows(GHOST, within_s=1)


def test_tab_without_ghost_text_is_a_tab(shop):
    shop.edit("tab.py", "")
    shop.lua(TAB)
    shop.keys("i<Tab>x<Esc>")
    shop.wait(lambda: shop.text() in ("\tx", " " * 8 + "x"), "a tab")


def test_a_block_of_several_lines_is_shown_and_taken(shop):
    text = BEGUN + "price_of(basket)\n    with open_ledger(basket) as ledger:\n        "
    begin(shop, "block.py", text)
    shop.shows(BLOCK)
    plug(shop, "accept")
    shop.has(text + BLOCK)
    assert shop.nv.current.window.cursor == (9, len("        ledger.close_day()"))


def test_a_line_of_several_can_be_taken_and_the_rest_stays(shop):
    text = BEGUN + "price_of(basket)\n    with open_ledger(basket) as ledger:\n        "
    begin(shop, "lines.py", text)
    shop.shows(BLOCK)
    first, _, second = BLOCK.partition("\n")
    plug(shop, "accept-line")
    shop.has(text + first)
    shop.shows("\n" + second)
    shop.keys("<F5>")
    shop.has(text + BLOCK)


def test_in_the_middle_of_a_line_the_rest_stands_behind_it(shop):
    begin(shop, "middle.py", BEGUN + "price_of)")
    shop.keys("<Left>(")
    shop.shows("basket" if shop.shows_inline else "basket)")
    assert "    total = price_of(basket)" in shop.screen()
    plug(shop, "accept")
    shop.has(BEGUN + "price_of(basket)")


@pytest.mark.parametrize(
    ("line", "column", "text", "n_replaced", "screen"),
    [
        ("print(foo())", 10, "bar,\n      ", 0, ["print(foo(bar,", "      ))"]),
        ("print(foo())", 10, "a)", 1, ["print(foo(a))"]),
        ("f(old, x)", 2, "new", 3, ["f(new, x)"]),
        ("f(a, x)", 2, "longer", 1, ["f(longer, x)"]),
        ("\tx = f()", 7, "g(\n\t\ty\n\t)", 0, ["        x = f(g(", "                y", "        ))"]),
        ("f()", 2, "a,\n", 0, ["f(a,", ")"]),
        ("f(😀)", 2, "'ä', ", 0, ["f('ä', 😀)"]),
    ],
)
def test_the_screen_shows_the_line_as_it_will_be(shop, line, column, text, n_replaced, screen):
    """No model is asked for these: how they are drawn is the question."""
    shop.wire.order(blank=[INLINE])
    begin(shop, "drawn.py", "# nothing\n" + line)
    shop.wait(lambda: shop.mode() == "i", "insert mode")
    shop.lua("vim.api.nvim_win_set_cursor(0, { 2, ... })", column)
    shop.lua("require('weft.draw').show(0, 1, ...)", column, text, n_replaced)
    rows = shop.screen()
    assert rows[1 : 1 + len(screen)] == screen
    assert rows[1 + len(screen)].startswith("~")
    shop.lua("require('weft.draw').clear(0)")
    assert shop.screen()[1:3] == [line.replace("\t", " " * 8), "~"]


@pytest.mark.parametrize("scheme", ["default", "vim", "quiet"])
def test_ghost_text_differs_from_code_in_a_terminal_without_true_colours(shop, scheme):
    """The Comment of Neovim's own scheme has no colour for such a terminal."""
    shop.nv.command("set notermguicolors")
    shop.nv.command(f"silent! colorscheme {scheme}")

    def attribute(group: str, name: str) -> str:
        return shop.nv.eval(f"synIDattr(synIDtrans(hlID('{group}')), '{name}', 'cterm')")

    for group in ("WeftGhost", "WeftGhostHint"):
        looks = [attribute(group, name) for name in ("fg", "bold", "italic", "underline", "reverse")]
        assert looks != [attribute("Normal", name) for name in ("fg", "bold", "italic", "underline", "reverse")]
    if attribute("Comment", "fg"):
        assert attribute("WeftGhost", "fg") == attribute("Comment", "fg")
    shop.nv.command("highlight WeftGhost ctermfg=5")
    shop.lua("require('weft.draw').set_highlights()")
    assert attribute("WeftGhost", "fg") == "5"
    shop.nv.command("highlight clear WeftGhost | silent! colorscheme default")


def test_what_is_replaced_goes_when_the_whole_is_taken(shop):
    begin(shop, "replaced.py", BEGUN + "f(old, x)")
    shop.keys("<Left>" * len("old, x)"))
    shop.wait(lambda: shop.nv.current.window.cursor[1] == len("    total = f("), "the cursor")
    # Neovim's own display shows nothing before it has asked once.
    plug(shop, "trigger")
    shop.wait(lambda: shop.notices() or shop.ghost(), "an answer")
    shop.lua(
        """
        local row, col, line = require('weft.ghost').cursor()
        local range = { start = { line = row, character = col }, ['end'] = { line = row, character = col + 3 } }
        local item = { insertText = 'new, z', range = range }
        local suggestion = require('weft.suggestion').from_item(item, 'utf-8', row, col, line)
        require('weft.accept').display().show({ suggestion }, 1)
        """
    )
    plug(shop, "accept-word")
    shop.has(BEGUN + "f(newold, x)")
    plug(shop, "accept")
    shop.has(BEGUN + "f(new, z, x)")


def test_what_is_typed_along_keeps_the_rest_without_an_answer(shop):
    begin(shop, "along.py")
    shop.keys(TYPED)
    shop.shows(GHOST)
    shop.wire.order(hold=[INLINE])
    for end in range(1, 4):
        shop.keys(GHOST[end - 1])
        shop.shows(GHOST[end:])
    plug(shop, "accept")
    shop.has(BEGUN + TYPED + GHOST)


def test_what_is_typed_otherwise_takes_it_away(shop):
    begin(shop, "away.py")
    shop.keys(TYPED)
    shop.shows(GHOST)
    shop.wire.order(hold=[INLINE])
    shop.keys("x")
    shop.wait(lambda: not shop.lua("return require('weft').is_visible()"), "no ghost text")
    plug(shop, "accept")
    shop.keys("y")
    shop.has(BEGUN + TYPED + "xy")


def test_the_next_completion_ends_the_request_in_flight_whose_empty_answer_would_hide_the_text(shop):
    begin(shop, "next.py")
    shop.keys(TYPED)
    shop.shows(GHOST)
    shop.wire.order(hold=[INLINE])
    mark = shop.wire.now()
    plug(shop, "trigger")
    asked = shop.wire.wait(INLINE, lambda params: params["context"]["triggerKind"] == 1, after=mark, sender="editor")
    plug(shop, "next")
    shop.wire.wait("$/cancelRequest", lambda params: params["id"] == asked["message"]["id"], after=mark)
    shop.wire.wait("weft/complete", after=mark, sender="server")
    assert shop.ghost() is not None


def test_a_word_can_be_taken_and_is_counted(shop):
    begin(shop, "word.py")
    mark = shop.wire.now()
    shop.keys(TYPED)
    shop.shows(GHOST)
    plug(shop, "accept-word")
    shop.has(BEGUN + TYPED + "ce_of")
    told = shop.wire.wait("weft/didPartiallyAccept", after=mark)["message"]["params"]
    assert told["acceptedLength"] == len("ce_of")
    assert told["id"] == shop.wire.wait("weft/didShow", after=mark)["message"]["params"]["id"]
    shop.shows("(basket)")
    shop.keys("<F5>")
    shop.shows("basket)")


@pytest.mark.parametrize(
    "burst", ["<F5>", "c<F5>", "ce<F5>", "ce_<BS><F5>", "<Left><F5>", "<BS><F5>", "x<BS><F5>", "c<F5><F5>"]
)
def test_keys_in_a_burst_never_put_text_in_the_wrong_place(shop, burst):
    """Accepted before Neovim or the server has followed: the whole at its place, or nothing."""
    begin(shop, "burst.py")
    shop.lua("vim.keymap.set('i', '<F5>', '<Plug>(weft-accept)', { remap = true })")
    shop.keys(TYPED)
    shop.shows(GHOST)
    shop.keys(burst + "<Esc>")
    shop.wait(lambda: shop.mode() == "n", "normal mode")
    last = shop.text().removeprefix(BEGUN)
    typed = {"c": "pric", "ce": "price", "<BS>": "pr"}.get(burst.partition("<F5>")[0].replace("_<BS>", ""), TYPED)
    assert last in (TYPED + GHOST, typed)


@pytest.mark.parametrize(
    ("rest", "word", "line"),
    [
        ("ce_of(basket)", "ce_of", "ce_of(basket)"),
        ("(a, b)", "(", "(a, b)"),
        (" = größe + 1", " =", " = größe + 1"),
        ("größe2 + 1\nx", "größe2", "größe2 + 1"),
        ("\n\n    return x\n", "\n\n    return", "\n\n    return x"),
        ("  ", "  ", "  "),
    ],
)
def test_what_a_word_and_a_line_are(shop, rest, word, line):
    assert shop.lua("return require('weft.suggestion').word(...)", rest) == word
    assert shop.lua("return require('weft.suggestion').line(...)", rest) == line


def test_what_was_taken_is_counted_in_utf_16_units(shop):
    length = "return require('weft.suggestion').accepted_length({ whole = 'a😀ä b' }, ' b')"
    assert shop.lua(length) == 4


def test_accepting_is_one_step_to_undo(shop):
    begin(shop, "undo.py")
    shop.keys(TYPED)
    shop.shows(GHOST)
    plug(shop, "accept")
    shop.has(BEGUN + TYPED + GHOST)
    shop.keys("  # more<Esc>u")
    shop.has(BEGUN + TYPED + GHOST)
    shop.keys("u")
    shop.has(BEGUN + TYPED)
    shop.keys("u")
    shop.has(BEGUN)


def test_refused_ghost_text_is_told_and_stays_away(shop):
    begin(shop, "refused.py")
    mark = shop.wire.now()
    shop.keys(TYPED)
    shop.shows(GHOST)
    plug(shop, "dismiss")
    shop.shows(None)
    shop.wire.wait("weft/didReject", after=mark)
    assert shop.lua("return require('weft').dismiss()") is False


def test_other_candidates_can_be_looked_at_and_taken(neovim, replaying):
    first = "ce_of(basket, 2)"
    chunks = [{"choices": [{"index": 0, "text": first}]}, "data: [DONE]"]
    model = replaying(
        {
            "GET /v1/models": {"data": [{"id": "coder"}]},
            "POST /v1/completions": lambda reply: reply.events(*chunks),
        }
    )
    nv = neovim(
        setup=f"{{ settings = {{ model = {{ {{ backend = 'openai', url = '{model.url}', fim = 'suffix' }} }} }} }}"
    )
    nv.edit("part_0.py")
    nv.wait(lambda: nv.status()["kind"] == "ready" and "coder" in nv.status()["model"], "the model")
    begin(nv, "others.py")
    nv.keys(TYPED)
    nv.shows(first)
    mark = nv.wire.now()
    plug(nv, "next")
    nv.shows(GHOST + " (2/3)")
    nv.keys("<F5>")
    nv.wait(lambda: (nv.ghost() or "").endswith(" (3/3)"), "the third")
    nv.keys("<F5>")
    nv.shows(first + " (1/3)")
    plug(nv, "next")
    nv.shows(GHOST + " (2/3)")
    plug(nv, "previous")
    nv.shows(first + " (1/3)")
    plug(nv, "next")
    nv.shows(GHOST + " (2/3)")
    assert len(nv.wire.said("weft/complete", after=mark, sender="editor")) == 1
    # Typed along, the one that was chosen stays: unasked the server would say the first.
    nv.keys("ce_")
    nv.wait(lambda: (nv.ghost() or "").startswith("of(basket)"), "the rest of the second")
    plug(nv, "accept")
    nv.has(BEGUN + TYPED + GHOST)
    nv.wire.wait("workspace/executeCommand", lambda call: call["command"] == "weft.didAccept", after=mark)


def test_where_there_is_one_completion_another_is_not_made_up(shop):
    begin(shop, "one.py", "from price import price_")
    shop.keys("o")
    shop.shows("f")
    plug(shop, "next")
    shop.wait(shop.notices, "a notice")
    assert shop.notices() == ["Weft: no other completion here."]
    shop.shows("f")


@pytest.mark.parametrize("before", ["'😀'; ", "ä = 1; "])
def test_columns_behind_wide_characters_are_right(shop, before):
    begin(shop, "wide.py", BEGUN.replace("total", before + "total"))
    shop.keys(TYPED)
    # By hand: unasked, it is not sure enough of such a line.
    plug(shop, "trigger")
    shop.shows(GHOST)
    plug(shop, "accept")
    shop.has(BEGUN.replace("total", before + "total") + TYPED + GHOST)


def test_files_with_carriage_returns_keep_them(shop):
    path = shop.folder / "dos.py"
    text = (BEGUN + "price_of(basket)\n    with open_ledger(basket) as ledger:\n        ").replace("\n", "\r\n")
    path.write_text(text, newline="")
    shop.edit("dos.py")
    assert shop.nv.eval("&fileformat") == "dos"
    shop.append()
    shop.shows(BLOCK)
    plug(shop, "accept")
    shop.keys("<Esc>:write<CR>")
    expected = (text + BLOCK.replace("\n", "\r\n")).encode() + b"\r\n"
    shop.wait(lambda: path.read_bytes() == expected, "the file with its carriage returns")
    path.unlink()


def test_a_late_answer_is_not_shown(shop):
    begin(shop, "late.py")
    shop.lua(
        """
        local client = require('weft.client')
        _G.request, _G.answers = client.request, {}
        client.request = function(method, params, handler, ...)
          table.insert(_G.answers, handler)
          return function() end
        end
        """
    )
    shop.keys(TYPED)
    shop.wait(lambda: shop.lua("return #_G.answers") > 0, "a request")
    shop.keys("c")
    shop.wait(lambda: shop.text().endswith(TYPED + "c"), "the letter")
    shop.lua(
        """
        require('weft.client').request = _G.request
        local at = { line = 5, character = 15 }
        _G.answers[1](nil, { items = { { insertText = 'LATE', range = { start = at, ['end'] = at } } } })
        """
    )
    assert "LATE" not in (shop.ghost() or "")
    assert shop.lua("return require('weft').accept()") in (True, False)
    assert "LATE" not in shop.text()


def test_a_function_of_the_settings_that_fails_is_told_once(shop):
    shop.lua("require('weft.config').options.ghost.when = function() error('mine') end")
    begin(shop, "fails.py")
    shop.keys(TYPED)
    shop.shows(GHOST)
    (notice,) = shop.notices()
    assert '"ghost.when" in setup failed' in notice and "mine" in notice
    shop.lua("require('weft.config').options.ghost.when = function() return false end")
    shop.keys("c")
    shop.wait(lambda: not shop.lua("return require('weft').is_visible()"), "no ghost text")
    shop.lua("require('weft.config').options.ghost.when = nil")


@pytest.mark.parametrize("keys", ["qq", ":setlocal buftype=nofile<CR>", ":setlocal nomodifiable<CR>"])
def test_macros_and_buffers_that_are_no_files_have_none(shop, keys):
    shop.edit("none.py", BEGUN + TYPED)
    shop.keys(keys + "GA")
    shop.wait(lambda: shop.mode() == "i" or "nomodifiable" in keys, "insert mode")
    assert not shop.lua("return require('weft.when').may_show(true)")
    shop.keys("<Esc>")
    if keys == "qq":
        shop.keys("q")
    shop.wait(lambda: shop.mode() == "n", "normal mode")


def test_replace_mode_has_none(shop):
    shop.edit("replace.py", BEGUN + TYPED)
    shop.keys("GR")
    shop.wait(lambda: shop.mode() == "R", "replace mode")
    assert not shop.lua("return require('weft.when').may_show(true)")


def test_the_popup_menu_goes_before(shop):
    begin(shop, "menu.py")
    shop.keys(TYPED)
    shop.shows(GHOST)
    shop.keys("<C-n>")
    shop.wait(lambda: shop.nv.call("pumvisible"), "the popup menu")
    shop.shows(None)


def test_it_can_be_switched_off_and_asked_for_by_hand(shop):
    begin(shop, "off.py")
    shop.nv.command("Weft toggle buffer")
    assert shop.lua("return require('weft').status()").startswith("weft: off here")
    mark = shop.wire.now()
    shop.keys(TYPED)
    shop.wait(lambda: shop.text().endswith(TYPED), "the letters")
    shop.wait(lambda: shop.notices() == ["Weft: ghost text is off in this buffer."], "the notice")
    assert shop.ghost() is None
    assert not shop.wire.said(INLINE, after=mark)
    plug(shop, "trigger")
    shop.shows(GHOST)
    asked = shop.wire.wait(INLINE, after=mark, sender="editor")["message"]["params"]
    assert asked["context"]["triggerKind"] == 1
    shop.nv.command("Weft toggle buffer")
