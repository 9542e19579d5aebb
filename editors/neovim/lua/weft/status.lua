-- The server status for status lines and the event `User WeftStatus`.
--
-- Owns the last status, and the status while no server runs. The sentences come from the server.

local client = require('weft.client')
local when = require('weft.when')

local M = {}

local last = nil

--- Subscribes to the status; a second call has no effect.
function M.enable()
  if last then
    return
  end
  M._set('starting', 'The Weft server has not started yet.')
  client.on('weft/didChangeStatus', function(status)
    last = status
    M._announce()
    return true
  end)
  client.on('ready', function()
    M._set('starting', 'The Weft server is starting.')
    M.refresh()
  end)
  client.on('ended', function(how, was_requested)
    if was_requested then
      M._set('off', 'The Weft server is stopped. Run :Weft restart to start it.')
    else
      M._set('error', 'The Weft server exited (' .. how .. ').')
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

--- For a status line: `weft: indexing 35%`, `weft: ready (workspace), 3 next edits`.
function M.line()
  local status = M.get()
  local detail = ''
  if type(status.percent) == 'number' then
    detail = ' ' .. math.floor(status.percent) .. '%'
  elseif status.kind == 'ready' and type(status.model) == 'string' and status.model ~= '' then
    detail = ' (' .. status.model .. ')'
  end
  local kind = status.kind == 'ready' and not status.enabled and 'off here' or status.kind or 'starting'
  return 'weft: ' .. kind .. detail .. M._next_edits()
end

--- How many next edits there are for the recent edits.
function M._next_edits()
  local n, is_more = require('weft.next_edits').count()
  return n == 0 and '' or string.format(', %d%s next edit%s', n, is_more and '+' or '', n > 1 and 's' or '')
end

--- Requests the status, for servers that do not push it.
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
