-- Weft in Neovim: what a person's configuration calls.
--
-- Owns nothing; wires the parts. `setup` starts them, the functions below it are for mappings.

local accept = require('weft.accept')
local client = require('weft.client')
local config = require('weft.config')
local draw = require('weft.draw')
local ghost = require('weft.ghost')
local notice = require('weft.notice')
local status = require('weft.status')
local suggestions = require('weft.suggestion')

local M = {}

-- What the running server was started with.
local started_with = nil

--- Starts Weft with these settings (|weft-settings|); again with others as well.
function M.setup(given)
  local problems = config.take(given)
  if #problems > 0 then
    notice.error('in setup: ' .. table.concat(problems, ' ') .. ' See :help weft-settings.')
  end
  draw.set_highlights()
  local group = vim.api.nvim_create_augroup('weft', { clear = true })
  vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = draw.set_highlights })
  M._start_display(group)
  status.enable()
  local options = config.options
  local start = { options.cmd or '', options.cmd_env, options.shared, options.settings, options.filetypes or '' }
  if started_with and not vim.deep_equal(start, started_with) then
    client.restart()
  else
    client.enable()
  end
  started_with = start
end

--- Whether setup was called.
function M.is_set_up()
  return started_with ~= nil
end

--- Each of these is true when it did something, and false when no ghost text is there: then a key may do what it
--- does otherwise.
function M.accept()
  return accept.accept()
end

function M.accept_word()
  return accept.accept(suggestions.word)
end

function M.accept_line()
  return accept.accept(suggestions.line)
end

function M.next()
  return accept.cycle(1)
end

function M.previous()
  return accept.cycle(-1)
end

function M.dismiss()
  return accept.dismiss()
end

--- Asks for ghost text now. True when the server was asked.
function M.trigger()
  return accept.trigger()
end

--- Whether ghost text is on the screen.
function M.is_visible()
  return accept.display().visible() ~= nil
end

--- For a status line.
function M.status()
  return status.line()
end

function M._start_display(group)
  if accept.display() == ghost then
    return ghost.enable(group)
  end
  local builtin = require('weft.builtin')
  if not M._attaching then
    M._attaching = client.on('attach', function(server, bufnr)
      if accept.display() == builtin then
        vim.schedule(function()
          builtin.attach(server, bufnr)
        end)
      end
    end)
  end
end

return M
