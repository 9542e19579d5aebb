-- Lifecycle of the server process and its LSP client: one for this Neovim, restarted with exponential backoff.
--
-- Owns pending requests, listeners and the restart timer. `launch.lua` starts the process. Knows no requests and no
-- display.

local compat = require('weft.compat')
local config = require('weft.config')
local launch = require('weft.launch')
local locate = require('weft.locate')
local log = require('weft.log')
local notice = require('weft.notice')

local M = {}

-- The error code of a request without a server.
local NO_SERVER = -32001
-- After this uptime the next exit counts as the first.
local HEALTHY_AFTER_MS = 60000

local listeners = {}
local unanswered = {}
local waiting = {}
local life = { wanted = false, failure = nil, n_running = 0, n_ends = 0, started_at = 0, restarting = nil }

--- Attaches to all current and future buffers. Warns once when no server is found.
function M.enable()
  life.wanted, life.failure = true, nil
  local command, problem = locate.command()
  if not command then
    return M._fail(problem)
  end
  launch.enable(command, M._hooks())
end

--- Stops the server.
function M.disable()
  life.wanted = false
  if life.restarting then
    life.restarting:stop()
    life.restarting:close()
    life.restarting = nil
  end
  launch.disable()
  M._answer_all("The Weft server was stopped before it answered.")
end

--- Restarts the server, also after the restart limit was reached.
function M.restart()
  M.disable()
  notice.forget()
  life.n_ends = 0
  -- Waits until the old process has exited, up to five seconds.
  local function when_gone(n_tries)
    if life.n_running == 0 or n_tries == 0 then
      return M.enable()
    end
    vim.defer_fn(function()
      when_gone(n_tries - 1)
    end, 50)
  end
  when_gone(100)
end

--- The client attached to `bufnr`, or any client when no buffer is given; nil when there is none.
function M.get(bufnr)
  for _, client in ipairs(launch.clients()) do
    if client.initialized and (not bufnr or vim.lsp.buf_is_attached(M._number(bufnr), client.id)) then
      return client
    end
  end
end

--- Sends a request. `handler(err, result)` is called once, also without a server or when it exits meanwhile, unless the
--- returned function cancels the request. Waits for a server that is starting.
function M.request(method, params, handler, bufnr)
  local entry = { handler = handler }
  local function send(client)
    if entry.done then
      return
    end
    local ok, id = compat.call(client, 'request', method, params, function(err, result)
      M._answer(entry, err, result)
    end, bufnr and M._number(bufnr) or nil)
    if not ok then
      return M._answer(entry, { code = NO_SERVER, message = M.why_not() })
    end
    entry.client, entry.id = client, id
  end
  unanswered[entry] = true
  local client = M.get()
  if client then
    send(client)
  elseif life.failure or not life.wanted then
    vim.schedule(function()
      M._answer(entry, { code = NO_SERVER, message = M.why_not() })
    end)
  else
    table.insert(waiting, send)
    if #launch.clients() == 0 and M._may_start() then
      launch.start_without_buffer(locate.command(), M._hooks())
    end
  end
  return function()
    local was_open = not entry.done
    entry.done = true
    unanswered[entry] = nil
    if was_open and entry.id and not compat.call(entry.client, 'is_stopped') then
      compat.call(entry.client, 'cancel_request', entry.id)
    end
  end
end

--- Sends a notification; does nothing without a server.
function M.notify(method, params)
  local client = M.get()
  if client then
    compat.call(client, 'notify', method, params)
  end
end

--- Calls `fn(params)` for each notification of this method, before Neovim's own handler, which is skipped when `fn`
--- returns true. Four events are local: `attach` (client, bufnr), `ready` (client), `ended` (exit status, whether it was
--- requested), and `failed` (message) when no server will start. Returns a function that removes the listener.
function M.on(method, fn)
  listeners[method] = listeners[method] or {}
  table.insert(listeners[method], fn)
  return function()
    listeners[method] = vim.tbl_filter(function(other)
      return other ~= fn
    end, listeners[method])
  end
end

--- Why no server runs, with the next step.
function M.why_not()
  if life.failure then
    return life.failure
  end
  if not life.wanted then
    return "Weft is not running. Run :Weft restart to start it, or call require('weft').setup{} in your init.lua."
  end
  return "The Weft server has not started yet."
end

function M._hooks()
  local function telling(method)
    local own = vim.lsp.handlers[method]
    return function(err, params, context, ...)
      if not M._tell(method, params) and own then
        return own(err, params, context, ...)
      end
    end
  end
  return {
    handlers = {
      ['$/progress'] = telling('$/progress'),
      ['weft/didChangeStatus'] = telling('weft/didChangeStatus'),
      ['window/logMessage'] = function(_, params)
        log.add(params.type, params.message)
      end,
    },
    before = function()
      life.n_running = life.n_running + 1
    end,
    ready = M._ready,
    attached = function(client, bufnr)
      M._tell('attach', client, bufnr)
    end,
    ended = M._ended,
    failed = vim.schedule_wrap(M._fail),
    may_start = M._may_start,
  }
end

--- False between two restarts, after the restart limit, and when the program is inside an open workspace.
function M._may_start()
  if not life.wanted or life.failure or life.restarting then
    return false
  end
  if #launch.clients() > 0 then
    return true
  end
  local command, problem = locate.command()
  if not command then
    M._fail(problem)
  end
  return command ~= nil
end

function M._ready(client)
  life.started_at = compat.uv.now()
  log.add(3, 'The server is initialized.')
  vim.schedule(function()
    local ready = waiting
    waiting = {}
    for _, fn in ipairs(ready) do
      fn(client)
    end
    M._tell('ready', client)
  end)
end

function M._answer(entry, err, result)
  if entry.done then
    return
  end
  entry.done = true
  unanswered[entry] = nil
  entry.handler(err, result)
end

function M._answer_all(message)
  local left = unanswered
  unanswered, waiting = {}, {}
  for entry in pairs(left) do
    M._answer(entry, { code = NO_SERVER, message = message })
  end
end

--- Handles the exit of the process: answers pending requests, and restarts it unless it was stopped.
M._ended = vim.schedule_wrap(function(code, signal)
  -- Neovim is exiting.
  if vim.v.exiting ~= vim.NIL then
    return
  end
  life.n_running = life.n_running - 1
  local how = signal ~= 0 and 'signal ' .. signal or 'exit status ' .. code
  log.add(code == 0 and signal == 0 and 3 or 1, 'The server exited: ' .. how .. '.')
  -- Its successor runs already.
  if life.n_running > 0 then
    return
  end
  M._answer_all("The Weft server exited (" .. how .. ') before it answered.')
  -- Status 0 means that it was stopped, here or by vim.lsp.enable('weft', false).
  local was_asked = code == 0 and signal == 0
  M._tell('ended', how, was_asked)
  if life.wanted and not was_asked then
    M._restart_later(how)
  end
end)

function M._restart_later(how)
  local options = config.options.restart
  if life.started_at > 0 and compat.uv.now() - life.started_at > HEALTHY_AFTER_MS then
    life.n_ends = 0
  end
  life.started_at = 0
  life.n_ends = life.n_ends + 1
  if life.n_ends > options.tries then
    local message = "The Weft server exited %d times (%s) and is not restarted. See :Weft log for the cause, then run :Weft restart."
    return M._fail(string.format(message, life.n_ends, how))
  end
  if life.n_ends == 1 then
    notice.warn('the server exited (' .. how .. ') and is restarting. See :Weft log for the cause.')
  end
  local delay_ms = math.min(options.first_ms * 2 ^ (life.n_ends - 1), options.longest_ms)
  life.restarting = vim.defer_fn(function()
    life.restarting = nil
    if life.wanted then
      M.enable()
    end
  end, math.floor(delay_ms))
end

function M._fail(message)
  life.failure = message
  log.add(1, message)
  notice.warn_once(message)
  M._answer_all(message)
  M._tell('failed', message)
end

function M._tell(what, ...)
  local taken = false
  for _, fn in ipairs(listeners[what] or {}) do
    taken = fn(...) == true or taken
  end
  return taken
end

function M._number(bufnr)
  return bufnr == 0 and vim.api.nvim_get_current_buf() or bufnr
end

return M
