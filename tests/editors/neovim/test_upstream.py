"""The entry for nvim-lspconfig: enabled by itself, it starts the server beside others and completes."""

from __future__ import annotations

from pathlib import Path

ENTRY = Path(__file__).resolve().parents[3] / "editors" / "upstream" / "lspconfig.lua"
BEGUN = ["from price import price_of", "", "", "def checkout(basket):", "    total = pri"]

REQUEST = """
local client = vim.lsp.get_clients({ bufnr = 0, name = 'weft' })[1]
if not client then
  return {}
end
local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = 4, character = 15 } }
local answer = client:request_sync('textDocument/completion', params, 10000, 0)
return vim.tbl_map(function(item) return item.label end, answer and answer.result and answer.result.items or {})
"""


def test_the_entry_of_lspconfig_attaches_and_completes(neovim):
    nv = neovim(setup="nil")
    entry = nv.lua("return dofile(...)", str(ENTRY))
    assert entry["cmd"] == ["weft", "serve"]
    nv.lua(
        "local entry = dofile(...); entry.cmd = select(2, ...); vim.lsp.config('weft', entry); vim.lsp.enable('weft')",
        str(ENTRY),
        [*nv.wire.command, "serve"],
    )
    nv.nv.command("edit new.py")
    nv.nv.current.buffer[:] = BEGUN
    nv.lua("vim.bo.filetype = 'python'")
    nv.wait(lambda: any("price_of(basket)" in label for label in nv.lua(REQUEST)), "a completion")
    folders = nv.lua("return vim.tbl_map(function(f) return f.name end, vim.lsp.get_clients()[1].workspace_folders)")
    assert folders == [str(nv.folder)]
