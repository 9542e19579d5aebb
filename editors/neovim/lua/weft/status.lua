-- What the server is doing, for the status line and for whoever listens to `User WeftStatus`.
--
-- Owns the last status that came, and what is said while there is no server. The words are the server's own.

local client = require('weft.client')
local when = require('weft.when')

local M = {}

local last = nil

--- Follows the server; called twice it stays one.
function M.enable()
  if last then
    return
  end
  M._set('starting', 'The server has not started yet.')
  client.on('weft/didChangeStatus', function(status)
    last = status
    M._announce()
    return true
  end)
  client.on('ready', function()
    M._set('starting', 'The server starts.')
    M.refresh()
  end)
  client.on('ended', function(how, was_asked)
    if was_asked then
      M._set('off', 'The server was ended. :Weft restart starts it.')
    else
      M._set('error', 'The server ended (' .. how .. ').')
    end
  end)
  client.on('failed', function(message)
    M._set('error', message)
  end)
end

--- The last status: `kind`, `text`, `percent`, `model`, `actions` as in the protocol; with `enabled` for this buffer.
function M.get()
  local status = last or { kind = 'off', text = client.why_not(), actions = {} }
  return vim.tbl_extend('force', status, { enabled = when.is_enabled(vim.api.nvim_get_current_buf()) })
end

--- For a status line: `weft: indexing 35%`, `weft: ready (workspace)`.
function M.line()
  local status = M.get()
  local detail = ''
  if type(status.percent) == 'number' then
    detail = ' ' .. math.floor(status.percent) .. '%'
  elseif status.kind == 'ready' and type(status.model) == 'string' and status.model ~= '' then
    detail = ' (' .. status.model .. ')'
  end
  local kind = status.kind == 'ready' and not status.enabled and 'off here' or status.kind or 'starting'
  return 'weft: ' .. kind .. detail
end

--- Asks the server, for one that sends no news by itself.
function M.refresh()
  client.request('weft/status', vim.NIL, function(err, status)
    if not err and type(status) == 'table' then
      last = status
      M._announce()
    end
  end)
end

function M._set(kind, text)
  last = { kind = kind, text = text, actions = {} }
  M._announce()
end

function M._announce()
  vim.api.nvim_exec_autocmds('User', { pattern = 'WeftStatus', modeline = false })
  vim.cmd('redrawstatus')
end

return M
