-- What Weft says to a person by itself: rarely, and each thing once.
--
-- Owns which notices were given. Knows nothing of what they are about.

local M = {}

local given = {}

local function say(message, level)
  vim.schedule(function()
    vim.notify('Weft: ' .. message, level)
  end)
end

function M.info(message)
  say(message, vim.log.levels.INFO)
end

function M.warn(message)
  say(message, vim.log.levels.WARN)
end

function M.error(message)
  say(message, vim.log.levels.ERROR)
end

--- A warning that is given once, until `forget`: a person who types gets no second one with the next key.
function M.warn_once(message)
  if not given[message] then
    given[message] = true
    M.warn(message)
  end
end

--- Somebody did something about it, so it may be said again.
function M.forget()
  given = {}
end

return M
