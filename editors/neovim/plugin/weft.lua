-- Defines `:Weft` and the <Plug> mappings; other modules are loaded on use.

if vim.g.loaded_weft then
  return
end
vim.g.loaded_weft = true

vim.api.nvim_create_user_command('Weft', function(call)
  require('weft.commands').run(call)
end, {
  nargs = '*',
  range = true,
  desc = 'Weft: completions and questions about the repository',
  complete = function(...)
    return require('weft.commands').complete(...)
  end,
})

vim.api.nvim_create_user_command('WeftSearch', function(call)
  require('weft.commands').run({ args = 'search ' .. call.args, range = 0 })
end, { nargs = '*', desc = 'Weft: search definitions, code and documents by name and words' })

for name, call in pairs({
  ['chat-send'] = "require('weft.chat').send()",
  ['chat-stop'] = "require('weft.chat').stop()",
  ['chat-as-written'] = "require('weft.chat').as_written()",
  ['place-open'] = "require('weft.jump').follow()",
  ['place-split'] = "require('weft.jump').follow('split')",
  ['place-next'] = "require('weft.jump').next()",
  ['place-previous'] = "require('weft.jump').previous()",
  ['place-list'] = "require('weft.jump').list()",
  ['next-edit'] = "require('weft').next_edit()",
  ['next-edit-refuse'] = "require('weft').refuse_edit()",
  ['next-edit-why'] = "require('weft.follow_ups').why()",
  ['next-edit-list'] = "require('weft.follow_ups').open()",
}) do
  vim.keymap.set(
    'n',
    '<Plug>(weft-' .. name .. ')',
    '<Cmd>lua ' .. call .. '<CR>',
    { desc = 'Weft: ' .. name:gsub('-', ' ') }
  )
end

for name, call in pairs({
  accept = 'accept',
  ['accept-word'] = 'accept_word',
  ['accept-line'] = 'accept_line',
  next = 'next',
  previous = 'previous',
  dismiss = 'dismiss',
  trigger = 'trigger',
}) do
  vim.keymap.set(
    'i',
    '<Plug>(weft-' .. name .. ')',
    string.format("<Cmd>lua require('weft').%s()<CR>", call),
    { desc = 'Weft: ' .. name:gsub('-', ' ') }
  )
end
