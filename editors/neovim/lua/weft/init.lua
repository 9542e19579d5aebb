-- Public API of the plugin: `setup`, and functions for mappings and status lines.

local accept = require('weft.accept')
local client = require('weft.client')
local config = require('weft.config')
local draw = require('weft.draw')
local ghost = require('weft.ghost')
local next_edits = require('weft.next_edits')
local notice = require('weft.notice')
local status = require('weft.status')
local suggestions = require('weft.suggestion')

local M = {}

--- Version of the plugin, the same as that of the server that it is released with.
M.version = '0.1.0'

-- The options that the running server was started with.
local started_with = nil

--- Starts Weft with these options (|weft-settings|). Can be called again; changed server options restart the server.
function M.setup(given)
  local problems = config.take(given)
  if #problems > 0 then
    notice.error('invalid setup options: ' .. table.concat(problems, ' ') .. ' See :help weft-settings.')
  end
  draw.set_highlights()
  local group = vim.api.nvim_create_augroup('weft', { clear = true })
  vim.api.nvim_create_autocmd('ColorScheme', { group = group, callback = draw.set_highlights })
  M._start_display(group)
  next_edits.enable(group)
  status.enable()
  local options = config.options
  local start = { options.cmd or '', options.cmd_env, options.shared, options.settings, options.filetypes or '' }
  table.insert(start, options.client_name)
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

--- The functions for mappings return true when they had an effect, and false when no ghost text is visible: then the
--- mapping may fall back to the key itself.
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

--- Requests a completion explicitly. True when a request was sent.
function M.trigger()
  return accept.trigger()
end

--- Goes to the displayed next edit, or makes it when the cursor is there. False when none is displayed.
function M.next_edit()
  return next_edits.next()
end

--- Refuses the displayed next edit: it is not offered again in this session. False when none is displayed.
function M.refuse_edit()
  return next_edits.refuse()
end

--- Whether ghost text is visible.
function M.is_visible()
  return accept.display().visible() ~= nil
end

--- For a status line.
function M.status()
  return status.line()
end

--- For a click on a status line: opens the status, with its actions.
function M.show_status()
  -- Neovim handles a click before it redraws.
  vim.schedule(function()
    require('weft.commands').run({ args = 'status', range = 0 })
  end)
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
