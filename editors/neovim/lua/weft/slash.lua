-- Completion of slash commands in the chat: /where, /explain and others.
--
-- The server sends the list of commands when it starts.

local client = require('weft.client')

local M = {}

--- Completes slash commands, as 'omnifunc' does.
function M.complete(find_start, base)
  if find_start == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.fn.col('.') - 1)
    return before:match('^%s*/%a*$') and before:find('/') - 1 or -3
  end
  local found = {}
  for _, command in ipairs(M._commands()) do
    local word = '/' .. command.name
    if word:sub(1, #base) == base then
      table.insert(found, { word = word, menu = command.argument, info = command.meaning })
    end
  end
  return found
end

function M._commands()
  local server = client.get()
  local experimental = server and server.server_capabilities.experimental
  return experimental and experimental.weft and experimental.weft.slashCommands or {}
end

return M
