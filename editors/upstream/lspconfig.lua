---@brief
---
--- https://github.com/weft-lsp/weft
---
--- Weft completes code with the context of the whole repository, on your machine and without a model.
--- It runs beside the language's own server and attaches to files of every type.
---
--- Install it with `pipx install weft-lsp`. Neovim 0.12 shows its completions as ghost text:
---
--- ```lua
--- vim.lsp.enable('weft')
--- vim.lsp.inline_completion.enable()
--- vim.keymap.set('i', '<Tab>', function()
---   if not vim.lsp.inline_completion.get() then
---     return '<Tab>'
---   end
--- end, { expr = true })
--- ```

---@type vim.lsp.Config
return {
  cmd = { 'weft', 'serve' },
  root_markers = { '.git', 'weft.toml' },
}
