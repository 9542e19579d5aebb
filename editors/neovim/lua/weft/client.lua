-- The server's life: one process for this Neovim, started again when it ends by itself; and talking to it.
--
-- Owns requests on their way, who listens to the server, and the waiting between two starts. How a server is started
-- is `launch.lua`'s. Knows nothing of what is asked, nor of what is shown.

local compat = require('weft.compat')
local config = require('weft.config')
local launch = require('weft.launch')
local locate = require('weft.locate')
local log = require('weft.log')
local notice = require('weft.notice')

local M = {}

-- What a request is answered with when there is no server to answer it.
local NO_SERVER = -32001
-- A server that ran this long is well; the next end counts as the first.
local WELL_AFTER_MS = 60000

local listeners = {}
local unanswered = {}
local waiting = {}
local life = { wanted = false, failure = nil, n_running = 0, n_ends = 0, started_at = 0, restarting = nil }

--- Attaches to every buffer there is and will be. Says once what is missing.
function M.enable()
  life.wanted, life.failure = true, nil
  local command, problem = locate.command()
  if not command then
    return M._fail(problem)
  end
  launch.enable(command, M._hooks())
end

--- Ends the server, and leaves it ended.
function M.disable()
  life.wanted = false
  if life.restarting then
    life.restarting:stop()
    life.restarting:close()
    life.restarting = nil
  end
  launch.disable()
  M._answer_all("Weft's server was ended before it answered.")
end

--- A new server, for whatever reason, with another chance for one that was given up.
function M.restart()
  M.disable()
  notice.forget()
  life.n_ends = 0
  -- The old one may still be saying goodbye.
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

--- The client that serves `bufnr`, or the one there is when no buffer is given; nil while there is none.
function M.get(bufnr)
  for _, client in ipairs(launch.clients()) do
    if client.initialized and (not bufnr or vim.lsp.buf_is_attached(M._number(bufnr), client.id)) then
      return client
    end
  end
end

--- Sends a request. `handler(err, result)` is called once, also when there is no server or it ends meanwhile;
--- not after the returned function, which cancels, was called. Waits for a server that is starting.
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

--- Sends a notification; passed over while there is no server.
function M.notify(method, params)
  local client = M.get()
  if client then
    compat.call(client, 'notify', method, params)
  end
end

--- Calls `fn(params)` for each of the server's notifications of this kind, before Neovim's own handler, which
--- is left out when `fn` returns true. Four are ours: `attach` (client, bufnr), `ready` (client), `ended`
--- (how, whether it was asked to), and `failed` (why) when there will be no server. Returns a function that ends it.
function M.on(method, fn)
  listeners[method] = listeners[method] or {}
  table.insert(listeners[method], fn)
  return function()
    listeners[method] = vim.tbl_filter(function(other)
      return other ~= fn
    end, listeners[method])
  end
end

--- Why there is no server, in a sentence with the next step.
function M.why_not()
  if life.failure then
    return life.failure
  end
  if not life.wanted then
    return "Weft is not running. :Weft restart starts it; require('weft').setup{} starts it with Neovim."
  end
  return "Weft's server is not running yet."
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

--- Not while it rests between two tries, nor after it was given up, nor when the folder that was just opened holds it.
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
  log.add(3, 'The server answers.')
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

--- The process is gone: whoever waits is told, and it is started again unless it was meant to end.
M._ended = vim.schedule_wrap(function(code, signal)
  -- Neovim itself is going.
  if vim.v.exiting ~= vim.NIL then
    return
  end
  life.n_running = life.n_running - 1
  local how = signal ~= 0 and 'signal ' .. signal or 'exit status ' .. code
  log.add(code == 0 and signal == 0 and 3 or 1, 'The server ended: ' .. how .. '.')
  -- One that was slow to end, and its successor runs.
  if life.n_running > 0 then
    return
  end
  M._answer_all("Weft's server ended (" .. how .. ') before it answered.')
  -- With status 0 it was asked to, by us or by somebody's vim.lsp.enable('weft', false).
  local was_asked = code == 0 and signal == 0
  M._tell('ended', how, was_asked)
  if life.wanted and not was_asked then
    M._start_again(how)
  end
end)

function M._start_again(how)
  local options = config.options.restart
  if life.started_at > 0 and compat.uv.now() - life.started_at > WELL_AFTER_MS then
    life.n_ends = 0
  end
  life.started_at = 0
  life.n_ends = life.n_ends + 1
  if life.n_ends > options.tries then
    local message = "Weft's server ended %d times (%s). See :Weft log, then :Weft restart."
    return M._fail(string.format(message, life.n_ends, how))
  end
  if life.n_ends == 1 then
    notice.warn('the server ended (' .. how .. ') and is started again. :Weft log says more.')
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
