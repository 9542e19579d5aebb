-- The server's log, and what became of the server: the last lines, for `:Weft log`.
--
-- Owns these lines. They stay in memory; Neovim writes its own log of the protocol (`:lua =vim.lsp.get_log_path()`).

local config = require('weft.config')

local M = {}

local LEVELS = { 'error', 'warning', 'info', 'log', 'debug' }

local lines = {}

--- `level` is a MessageType of the protocol, 1 to 5.
function M.add(level, message)
  local head = os.date('%H:%M:%S') .. ' ' .. (LEVELS[level] or 'log') .. ': '
  for _, line in ipairs(vim.split(message, '\r?\n')) do
    table.insert(lines, head .. line)
  end
  while #lines > config.options.log.lines do
    table.remove(lines, 1)
  end
end

function M.lines()
  return lines
end

return M
