"""A real sidekick.nvim shows and applies next edits of the real server, with Weft's plugin and without it.

sidekick.nvim is not part of this repository: `make editors` fetches it, or SIDEKICK names its folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

INLINE_EDIT = "textDocument/copilotInlineEdit"
OLDEST = (0, 11, 2)

TILL = """\
def pay(amount):
    return amount


def again():
    return pay(2)


def twice():
    return pay(1) + pay(2)
"""

SET_UP = """
vim.opt.runtimepath:prepend(...)
require('sidekick').setup({ copilot = { status = { enabled = false } } })
vim.keymap.set('n', '<Tab>', function()
  if not require('sidekick').nes_jump_or_apply() then
    return '<Tab>'
  end
end, { expr = true })
"""

WITHOUT_PLUGIN = """
vim.lsp.config('weft_copilot', { cmd = ..., root_markers = { 'weft.toml', '.git' } })
vim.lsp.enable('weft_copilot')
"""

EDITS = """
local edits = require('sidekick.nes').get(vim.api.nvim_get_current_buf())
return vim.tbl_map(function(edit) return { edit.range.start.line, edit.text } end, edits)
"""

DRAWN = """
local marks = vim.api.nvim_buf_get_extmarks(0, require('sidekick.config').ns, 0, -1, { details = true })
return #marks
"""


@pytest.fixture(scope="module")
def sidekick(editors_prefix):
    folder = Path(os.environ.get("SIDEKICK", editors_prefix / "sidekick.nvim"))
    if not (folder / "lua" / "sidekick").is_dir():
        pytest.skip("no sidekick.nvim: make editors fetches it from GitHub, or set SIDEKICK to its folder")
    return str(folder)


@pytest.fixture(params=["with Weft's plugin", "without Weft's plugin"])
def till(neovim, sidekick, request):
    """A Neovim in `till.py` with sidekick.nvim and Weft under a name that it takes."""
    with_plugin = request.param == "with Weft's plugin"
    options = "{ client_name = 'weft_copilot', next_edits = { show = 'off' } }"
    nv = neovim({"till.py": TILL}, setup=options if with_plugin else "nil")
    version = nv.lua("local v = vim.version(); return { v.major, v.minor, v.patch }")
    if tuple(version) < OLDEST:
        pytest.skip("sidekick.nvim needs Neovim 0.11.2")
    if not with_plugin:
        nv.lua(WITHOUT_PLUGIN, [*nv.wire.command, "serve"])
    nv.lua(SET_UP, sidekick)
    nv.nv.command("edit till.py")
    nv.lua("vim.bo.filetype = 'python'")
    nv.wait(lambda: nv.lua("return require('sidekick.config').get_client(0) ~= nil"), "sidekick's client")
    nv.wire.wait("window/logMessage", lambda told: told["message"].startswith("Indexing: "))
    return nv


def rename(nv):
    nv.nv.current.window.cursor = (1, 4)
    nv.keys("cwcharge<Esc>")


def test_sidekick_shows_the_next_edit_goes_there_and_applies_it(till):
    rename(till)
    till.wait(lambda: till.lua(EDITS) == [[5, "charge"]], "the edit after Insert mode ended")
    till.wait(lambda: till.lua(DRAWN) > 0, "the edit on the screen")
    mark = till.wire.now()
    till.keys("<Tab>")
    till.wait(lambda: till.nv.current.window.cursor == (6, 11), "the jump")
    till.keys("<Tab>")
    till.wait(lambda: till.nv.current.buffer[5] == "    return charge(2)", "the edit")
    taken = till.wire.wait("workspace/executeCommand", after=mark, sender="editor")["message"]["params"]
    assert taken["command"] == "weft.didTakeNextEdit" and taken["arguments"][0]["id"].startswith("next-")
    till.wait(lambda: till.lua(EDITS) == [[9, "charge"]], "the edit after that")
    till.lua("require('sidekick.nes').jump()")
    till.wait(lambda: till.nv.current.window.cursor == (10, 11), "the jump by its function")
    till.lua("require('sidekick.nes').apply()")
    till.wait(lambda: till.nv.current.buffer[9] == "    return charge(1) + pay(2)", "the edit by its function")
    till.lua("require('sidekick.nes').update()")
    till.wait(lambda: till.lua(EDITS) == [[9, "charge"]], "the second edit of the line")


def test_an_answer_for_an_older_text_is_not_shown_by_sidekick(till):
    till.wire.order(late=[INLINE_EDIT])
    rename(till)
    till.wire.wait(INLINE_EDIT, lambda answer: answer["edits"], sender="held")
    till.nv.command("set eventignore=all")
    till.nv.current.buffer[:] = ["x = 1", *till.nv.current.buffer[:]]
    mark = till.wire.now()
    till.wire.order(late=None)
    till.wire.wait(INLINE_EDIT, after=mark, sender="server")
    assert till.lua(EDITS) == []
