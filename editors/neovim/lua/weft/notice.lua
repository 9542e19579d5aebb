-- Notifications by vim.notify.
--
-- Owns which warnings were shown already.

local M = {}

local shown = {}

local function notify(message, level)
  vim.schedule(function()
    vim.notify('Weft: ' .. message, level)
  end)
end

function M.info(message)
  notify(message, vim.log.levels.INFO)
end

function M.warn(message)
  notify(message, vim.log.levels.WARN)
end

function M.error(message)
  notify(message, vim.log.levels.ERROR)
end

--- Shows a warning once, until `forget`; else each key would repeat it.
function M.warn_once(message)
  if not shown[message] then
    shown[message] = true
    M.warn(message)
  end
end

--- Allows all warnings again, after a restart.
function M.forget()
  shown = {}
end

return M
