"""Next edits in the real Neovim: seen at their place, gone to, taken, refused, listed for all files, explained."""

from __future__ import annotations

import pytest

NEXT_EDIT = "weft/nextEdit"

TILL = """\
def pay(amount):
    return amount


def again():
    return pay(2)


def twice():
    return pay(1) + pay(2)
"""
USE = """\
from till import pay

print("\N{GRINNING FACE}", pay(1))
"""
FILES = {"till.py": TILL, "use.py": USE}

# What is drawn: struck bytes, virtual text in a line, virtual lines; and the hint.
DRAWN = """
local seen = { struck = {}, added = {}, hint = '' }
local function text_of(chunks)
  return table.concat(vim.tbl_map(function(chunk) return chunk[1] end, chunks))
end
local namespaces = vim.api.nvim_get_namespaces()
for _, name in ipairs({ 'weft.next_edit', 'weft.next_edit.hint' }) do
  for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespaces[name] or -1, 0, -1, { details = true })) do
    local row, col, details = mark[2], mark[3], mark[4]
    if name == 'weft.next_edit.hint' then
      seen.hint = vim.trim(text_of(details.virt_text))
    elseif details.hl_group == 'WeftNextEditDelete' then
      table.insert(seen.struck, { row, col, details.end_row, details.end_col })
    elseif details.virt_text then
      table.insert(seen.added, { row, text_of(details.virt_text) })
    end
    for _, chunks in ipairs(name == 'weft.next_edit' and details.virt_lines or {}) do
      table.insert(seen.added, { row, text_of(chunks) })
    end
  end
end
return seen
"""


@pytest.fixture
def till(neovim):
    """A Neovim in `till.py` with a server of its own, because a session remembers edits and refusals."""
    return begun(neovim(FILES), "till.py")


def begun(nv, name):
    nv.lua("_G.notices = {}")
    nv.edit(name)
    nv.ready()
    nv.nv.current.window.cursor = (1, 0)
    return nv


def drawn(nv):
    return nv.lua(DRAWN)


def plug(nv, name):
    nv.lua("vim.keymap.set('n', '<F5>', ..., { remap = true })", f"<Plug>(weft-{name})")
    nv.keys("<F5>")


def rename(nv, name="charge"):
    """Changes the name at the declaration, as a person does."""
    nv.nv.current.window.cursor = (1, 4)
    nv.keys(f"cw{name}<Esc>")


def shows(nv, row, old, new):
    """Until the edit of this row is drawn: the struck text and the new one."""

    def look():
        seen = drawn(nv)
        line = nv.nv.current.buffer[row]
        struck = [line.encode()[a:c].decode() for r, a, _, c in seen["struck"] if r == row]
        whole = line.replace(old, new, 1)
        return struck == [old] and seen["added"] == [[row, new if nv.shows_inline else whole]]

    nv.wait(look, f"{old!r} → {new!r} in row {row}, not {drawn(nv)}")


def starts(told):
    """Where the changes of a didChange begin."""
    return [change["range"]["start"] for change in told["contentChanges"]]


def shows_nothing(nv):
    nv.wait(lambda: drawn(nv) == {"struck": [], "added": [], "hint": ""}, f"nothing shown, not {drawn(nv)}")


def test_after_a_rename_the_uses_come_one_after_another(till):
    mark = till.wire.now()
    rename(till)
    shows(till, 5, "pay", "charge")
    plug(till, "next-edit")
    till.wait(lambda: till.nv.current.window.cursor == (6, 11), "the cursor at the edit")
    till.keys("<F5>")
    till.wait(lambda: till.nv.current.buffer[5] == "    return charge(2)", "the first use")
    shows(till, 9, "pay", "charge")
    till.keys("<F5><F5>")
    till.wait(lambda: till.nv.current.buffer[9] == "    return charge(1) + pay(2)", "the second use")
    shown = till.wire.wait("weft/didShowNextEdit", after=mark)["message"]["params"]["id"]
    taken = till.wire.wait("workspace/executeCommand", after=mark, sender="editor")["message"]["params"]
    assert taken == {"command": "weft.didTakeNextEdit", "arguments": [{"id": shown}]}
    till.keys("u")
    till.wait(lambda: till.nv.current.buffer[9] == "    return pay(1) + pay(2)", "one undo step for an edit")


def test_a_refused_edit_does_not_come_back(till):
    rename(till, "settle")
    shows(till, 5, "pay", "settle")
    mark = till.wire.now()
    plug(till, "next-edit-refuse")
    refused = till.wire.wait("weft/didRefuseNextEdit", after=mark)
    assert refused["message"]["params"]["id"]
    shows(till, 9, "pay", "settle")
    till.wire.wait(NEXT_EDIT, after=mark, sender="server")
    till.keys("jx<Esc>")
    till.wire.wait(NEXT_EDIT, lambda answer: answer and answer["version"] > 2, after=mark, sender="server")
    shows(till, 9, "pay", "settle")
    assert till.nv.current.buffer[5] == "    return pay(2)"


def test_an_answer_for_an_older_text_is_dropped(till):
    till.wire.order(late=[NEXT_EDIT])
    mark = till.wire.now()
    rename(till, "book")
    till.wire.wait(NEXT_EDIT, lambda answer: len(answer["edits"]) == 5, after=mark, sender="held")
    till.nv.command("set eventignore=all")  # else the new text cancels the request
    till.nv.current.buffer[:] = ["x = 1", *till.nv.current.buffer[:]]
    till.wire.order(late=None)
    till.wire.wait(NEXT_EDIT, after=mark, sender="server")
    assert till.lua("return require('weft.next_edits').count()") == 0
    shows_nothing(till)
    till.nv.command("set eventignore=")
    till.keys("x")
    shows(till, 6, "pay", "book")


def test_out_of_the_window_the_cursors_line_says_where_it_is(neovim):
    till = begun(neovim({"till.py": TILL.replace("\n\n\ndef again", "\n" + "# line\n" * 60 + "def again")}), "till.py")
    rename(till, "debit")
    till.wait(lambda: drawn(till)["hint"] == "→ 63 lines below: return debit(2)", f"the hint, not {drawn(till)}")
    assert any("→ 63 lines below: return debit(2)" in row for row in till.screen())
    till.keys("j")
    till.wait(lambda: drawn(till)["hint"] == "→ 62 lines below: return debit(2)", "the hint at the cursor")
    till.keys("G")
    till.wait(lambda: drawn(till)["hint"] == "", "no hint where the edit is in sight")


def test_quiet_only_names_the_edit_and_off_waits_for_the_command(neovim):
    till = begun(neovim(FILES, setup="{ next_edits = { show = 'quiet' } }"), "till.py")
    rename(till)
    till.wait(lambda: drawn(till)["hint"] == "→ 5 lines below: return charge(2)", f"the hint, not {drawn(till)}")
    assert drawn(till)["struck"] == []
    till.lua("require('weft').setup({ cmd = require('weft.config').options.cmd, next_edits = { show = 'off' } })")
    mark = till.wire.now()
    till.keys("u")
    rename(till, "settle")
    till.wire.wait("textDocument/didChange", after=mark)
    assert not till.lua("return require('weft').next_edit()")
    assert not till.wire.said(NEXT_EDIT, after=mark)
    till.nv.command("Weft next-edit")
    shows(till, 5, "pay", "settle")


def test_an_edit_is_looked_for_in_insert_mode_only_if_set(neovim):
    till = begun(neovim(FILES, setup="{ next_edits = { idle_ms = 30 } }"), "till.py")
    till.nv.current.window.cursor = (1, 4)
    till.keys("cwcharge")
    shows(till, 5, "pay", "charge")
    assert till.mode() == "i"
    till.keys("d")
    shows(till, 5, "pay", "charged")


def test_the_edit_of_another_file_is_named_and_gone_to(till):
    till.nv.current.buffer[3:] = []
    rename(till)
    till.wait(lambda: drawn(till)["hint"] == "→ use.py:1: pay → charge", f"the hint, not {drawn(till)}")
    plug(till, "next-edit")
    till.wait(lambda: till.nv.current.buffer.name.endswith("use.py"), "the other file")
    shows(till, 0, "pay", "charge")
    assert till.nv.current.window.cursor == (1, 17)
    till.keys("<F5>")
    till.wait(lambda: till.nv.current.buffer[0] == "from till import charge", "the edit of the other file")
    shows(till, 2, "pay", "charge")
    assert (till.folder / "use.py").read_text() == USE  # unsaved as any edit


def test_a_key_keeps_its_meaning_where_no_edit_is_displayed(till):
    till.lua(
        """
        vim.keymap.set('n', '<Tab>', function()
          if not require('weft').next_edit() then return '<Tab>' end
        end, { expr = true })
        """
    )
    till.nv.command("clearjumps")
    till.keys("8GG<C-o>")
    till.wait(lambda: till.nv.current.window.cursor[0] == 8, "the jump back")
    till.keys("<Tab>")
    till.wait(lambda: till.nv.current.window.cursor[0] == 10, "the jump forward")
    rename(till)
    shows(till, 5, "pay", "charge")
    till.keys("<Tab>")
    till.wait(lambda: till.nv.current.window.cursor == (6, 11), "the jump to the edit")
    till.keys("<Tab>")
    till.wait(lambda: till.nv.current.buffer[5] == "    return charge(2)", "the edit")


SHOP = {
    "till.py": """\
class Till:
    def pay(self, amount):
        return amount

    def again(self):
        return self.pay(2)
""",
    "use.py": "from till import Till\n\nprint(Till().pay(1))\nprint(Till().pay(2))\n",
    "guess.py": "def close(door):\n    door.pay(3)\n",
}
FOLLOW_UPS = """\
`pay` is `charge` now (line 2 of till.py).
  [x] till.py:6
      - return self.pay(2)
      + return self.charge(2)
  [x] use.py:3
      - print(Till().pay(1))
      + print(Till().charge(1))
  [x] use.py:4
      - print(Till().pay(2))
      + print(Till().charge(2))

Perhaps: in a string, a comment or a document, or only the name is the same. `pay` is `charge` now (line 2 of till.py).
  [ ] guess.py:2
      - door.pay(3)
      + door.charge(3)"""


def test_the_list_applies_the_checked_edits_of_all_files(neovim):
    till = begun(neovim(SHOP, setup="{ settings = { next_edits = { min_confidence = 0.05 } } }"), "till.py")
    till.nv.current.window.cursor = (2, 8)
    till.keys("cwcharge<Esc>")
    shows(till, 5, "pay", "charge")
    assert till.lua("return require('weft').status()").endswith(", 3 next edits")
    plug(till, "next-edit-list")
    till.wait(lambda: till.nv.current.buffer.name.endswith("weft://follow-ups"), "the list")
    assert till.text().endswith(FOLLOW_UPS)
    mark = till.wire.now()
    till.keys("a")
    till.wait(lambda: "3 edits in 2 files made" in "".join(till.notices()), f"the notice, not {till.notices()}")
    taken = till.wire.wait("workspace/executeCommand", after=mark, sender="editor")["message"]["params"]
    assert len(taken["arguments"]) == 3
    till.wait(lambda: "till.py:6" not in till.text() and "[ ] guess.py:2" in till.text(), "what is left")
    buffers = {buffer.name.rsplit("/", 1)[-1]: "\n".join(buffer[:]) + "\n" for buffer in till.nv.buffers}
    for name in ("till.py", "use.py"):
        assert buffers[name] == SHOP[name].replace("pay", "charge")
        assert (till.folder / name).read_text() == SHOP[name]  # unsaved, as any edit
    till.nv.command("wincmd p | buffer use.py")
    till.keys("u")
    till.wait(lambda: till.text() + "\n" == SHOP["use.py"], "both edits of the file undone at once")


def test_the_edits_of_a_file_that_is_opened_later_are_shown_there(till):
    rename(till)
    shows(till, 5, "pay", "charge")
    till.nv.command("edit use.py")
    shows(till, 0, "pay", "charge")
    till.nv.command("buffer till.py")
    shows(till, 5, "pay", "charge")


def test_the_list_checks_refuses_and_goes_to_edits(till):
    rename(till)
    shows(till, 5, "pay", "charge")
    till.nv.command("Weft follow-ups")
    till.wait(lambda: "[x] till.py:6" in till.text(), "the list")
    till.nv.call("search", "till.py:6")
    till.keys("x")
    till.wait(lambda: "[ ] till.py:6" in till.text(), "an unchecked edit")
    till.nv.call("search", "use.py:1")
    mark = till.wire.now()
    till.keys("d")
    till.wait(lambda: "use.py:1" not in till.text(), "one edit less")
    till.wire.wait("weft/didRefuseNextEdit", after=mark)
    till.keys("r")
    till.wire.wait(NEXT_EDIT, after=mark, sender="server")
    assert "use.py:1" not in till.text()
    till.nv.call("search", "use.py:3")
    till.keys("<CR>")
    till.wait(lambda: till.nv.current.buffer.name.endswith("use.py"), "the file")
    assert till.nv.current.window.cursor[0] == 3


def test_an_edit_whose_text_has_changed_is_left_out_with_a_reason(till):
    rename(till)
    shows(till, 5, "pay", "charge")
    till.nv.command("Weft follow-ups")
    till.wait(lambda: "[x] till.py:6" in till.text(), "the list")
    (buffer,) = [each for each in till.nv.buffers if each.name.endswith("till.py")]
    buffer[5] = "    return 2"
    till.keys("a")
    till.wait(lambda: "1 of 5 edits not made: the text has changed (till.py:6)." in "".join(till.notices()), "a reason")
    assert buffer[5] == "    return 2" and buffer[9] == "    return charge(1) + charge(2)"


def test_why_says_what_it_follows_from_and_goes_there(till):
    rename(till)
    shows(till, 5, "pay", "charge")
    till.nv.current.window.cursor = (6, 11)
    plug(till, "next-edit-why")
    till.wait(lambda: till.nv.current.buffer.name.endswith("weft://why-edit"), "the explanation")
    text = till.text()
    assert text.startswith("`pay` is `charge` now (line 1 of till.py).\n") and "Confidence: " in text
    assert "till.py:1 was edited:\n  - def pay(amount):\n  + def charge(amount):" in text
    assert "till.py:6 becomes:\n  - return pay(2)\n  + return charge(2)" in text
    assert till.nv.api.win_get_config(0)["relative"]
    till.nv.call("search", "till.py:1 was")
    till.keys("<CR>")
    till.wait(lambda: till.nv.current.buffer.name.endswith("till.py"), "the edit that it follows from")
    assert till.nv.current.window.cursor[0] == 1 and len(till.nv.windows) == 1


@pytest.mark.parametrize(
    ("lines", "span", "old", "new", "added", "struck"),
    [
        (["a", "b"], (0, 1, 0, 1), "", "\nnew\n  line", [[0, "new"], [0, "  line"]], []),
        (["a", "b"], (1, 0, 1, 0), "", "new\n", [[0, "new"]], []),
        (["a", "b"], (0, 0, 0, 0), "", "new\n", [[0, "new"]], []),
        (["a", "b", "c"], (0, 0, 2, 0), "a\nb\n", "", [], [[0, 0, 0, 1], [1, 0, 1, 1]]),
        (["if x:", "\ty(1)", "z"], (1, 1, 1, 5), "y(1)", "y(\n\t\t1\n\t)", [[1, " " * 8 + "y("]], [[1, 1, 1, 5]]),
        (["😀 = pay(1)"], (0, 8, 0, 8), "", ", 2", [[0, ", 2"]], []),
        (["pay(1, 2)"], (0, 5, 0, 8), ", 2", "", [], [[0, 5, 0, 8]]),
    ],
)
def test_changes_of_lines_are_drawn_as_lines(shop, lines, span, old, new, added, struck):
    """No server is asked for these: how they are drawn is the question."""
    shop.nv.command("enew")
    shop.nv.current.buffer[:] = lines
    start, end = {"line": span[0], "character": span[1]}, {"line": span[2], "character": span[3]}
    edit = {"range": {"start": start, "end": end}, "oldText": old, "text": new}
    shop.lua(
        """
        local edit = ...
        local lines = vim.api.nvim_buf_get_lines(0, 0, -1, false)
        table.insert(lines, '')
        local change = require('weft.edits').change(edit, lines, 'utf-8')
        require('weft.edit_view').draw(vim.api.nvim_get_current_buf(), change)
        """,
        edit,
    )
    seen = drawn(shop)
    assert seen["struck"] == struck
    if shop.shows_inline or not added or "\n" in new:
        assert seen["added"][: len(added)] == added
    assert all(any(text in row for row in shop.screen()) for _, text in seen["added"])
    shop.nv.command("bwipeout!")


def test_checkhealth_says_whether_the_server_finds_next_edits(till):
    till.nv.command("checkhealth weft")
    assert "The server finds next edits; shown: eager." in till.text()
    till.nv.command("bwipeout!")
    till.lua(
        """
        local client = require('weft.client')
        local request = client.request
        client.request = function(method, params, handler, ...)
          if method == 'weft/nextEdit' then
            return handler({ code = -32601, message = 'Method not found' })
          end
          return request(method, params, handler, ...)
        end
        """
    )
    till.nv.command("checkhealth weft")
    assert "The server has no next edits: Method not found" in till.text() and "Update the server" in till.text()


def test_commands_are_completed(till):
    words = till.lua("return require('weft.commands').complete('', 'Weft ', 5)")
    assert {"next-edit", "refuse-edit", "why-edit", "follow-ups"} <= set(words)
    till.nv.command("Weft next-edit")
    till.wait(till.notices, "a notice")
    assert "no next edit" in till.notices()[0]
    till.nv.command("Weft why-edit")
    till.wait(lambda: len(till.notices()) == 2, "a second notice")
    assert "no next edit is displayed" in till.notices()[1]
    till.nv.command("Weft follow-ups")
    till.wait(lambda: len(till.notices()) == 3, "a third notice")
    assert "no follow-up edits" in till.notices()[2]


def test_nothing_is_shown_while_a_macro_is_recorded_or_where_it_is_switched_off(neovim):
    till = begun(
        neovim(FILES, setup="{ next_edits = { enabled = function(b) return vim.b[b].on == 1 end } }"), "till.py"
    )
    mark = till.wire.now()
    rename(till)
    till.nv.command("let b:on = 1")
    till.keys("qqG$x")
    deleted = {"line": 9, "character": 25}
    till.wire.wait("textDocument/didChange", lambda told: deleted in starts(told), after=mark)
    assert not till.wire.said(NEXT_EDIT, after=mark)
    till.keys("qugg")
    shows(till, 5, "pay", "charge")
