-- The last log messages of the server, in memory, for `:Weft log`.
--
-- Neovim writes its own LSP log (`:lua =vim.lsp.get_log_path()`).

local config = require('weft.config')

local M = {}

local LEVELS = { 'error', 'warning', 'info', 'log', 'debug' }

local lines = {}

--- `level` is an LSP MessageType, 1 to 5.
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
