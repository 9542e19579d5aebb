-- The subcommands of `:Weft` and their completion.

local client = require('weft.client')
local log = require('weft.log')
local notice = require('weft.notice')
local when = require('weft.when')

local M = {}

local SCOPES = { 'global', 'filetype', 'buffer' }

--- Runs a `:Weft` command; `call` is the argument of the nvim_create_user_command callback.
function M.run(call)
  local word, rest = call.args:match('^(%S*)%s*(.*)$')
  local command = M._commands[word == '' and 'status' or word]
  if not command then
    local nearest = require('weft.config').nearest(word, vim.tbl_keys(M._commands))
    local hint = nearest and ' Did you mean :Weft ' .. nearest .. '?' or ''
    return notice.error('unknown subcommand :Weft ' .. word .. '.' .. hint .. ' See :help :Weft.')
  end
  if not require('weft').is_set_up() and word ~= 'restart' and word ~= 'log' then
    local next_step = "Call require('weft').setup{} in your init.lua, or run :Weft restart to start it now."
    return notice.warn('Weft is not set up. ' .. next_step)
  end
  command.run(rest, call)
end

--- Completes the command line of `:Weft`.
function M.complete(lead, line, cursor)
  local before = line:sub(1, cursor)
  local word = before:match('Weft!?%s+(%S+)%s')
  local words = {}
  if not word then
    words = vim.tbl_keys(M._commands)
  elseif M._commands[word] then
    words = M._commands[word].words or {}
  end
  table.sort(words)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, words)
end

--- A subcommand that calls `require(module)[name]` with the text after it.
local function calling(module, name)
  return {
    run = function(text)
      require(module)[name](text)
    end,
  }
end

local function ask(question, call)
  require('weft.chat').ask(question, call.range > 0 and { call.line1, call.line2 } or nil)
end

--- A subcommand that sends a request and shows the status in its result.
local function changing(method, params)
  return function()
    client.request(method, params, function(err, status)
      if err then
        return notice.error(err.message)
      end
      notice.info(status.text)
    end)
  end
end

local function toggle(scope)
  local bufnr = vim.api.nvim_get_current_buf()
  local function switch(chosen)
    if chosen then
      notice.info(when.toggle(chosen, bufnr))
      require('weft.accept').display().clear()
    end
  end
  if scope == '' then
    return vim.ui.select(SCOPES, { prompt = 'Toggle Weft for: ' }, switch)
  end
  if not vim.tbl_contains(SCOPES, scope) then
    return notice.error(':Weft toggle takes ' .. table.concat(SCOPES, ', ') .. ', or no argument.')
  end
  switch(scope)
end

local function show_log()
  local lines = vim.tbl_map(function(line)
    return { text = line }
  end, log.lines())
  table.insert(lines, 1, { text = "LSP log of Neovim: " .. vim.lsp.get_log_path() })
  require('weft.pages').open('log', lines)
end

local function restart()
  if require('weft').is_set_up() then
    client.restart()
  else
    require('weft').setup({})
  end
end

--- The program proposes a code model, and asks before it downloads.
local function set_up_model(name)
  require('weft.terminal').run(vim.list_extend({ 'setup' }, vim.split(name, '%s+', { trimempty = true })))
end

local function accept(part)
  local call = ({ [''] = 'accept', word = 'accept_word', line = 'accept_line' })[part]
  if not call then
    return notice.error(':Weft accept takes word, line, or no argument.')
  end
  require('weft')[call]()
end

M._commands = {
  status = calling('weft.pages', 'status'),
  doctor = calling('weft.pages', 'doctor'),
  why = calling('weft.pages', 'why'),
  search = calling('weft.search', 'run'),
  log = { run = show_log },
  chat = calling('weft.chat', 'open'),
  new = calling('weft.chat', 'new'),
  ask = { run = ask },
  stop = calling('weft.chat', 'stop'),
  citations = calling('weft.chat', 'citations'),
  history = calling('weft.history', 'open'),
  pause = { run = changing('weft/pause', { paused = true }) },
  resume = { run = changing('weft/pause', { paused = false }) },
  index = { run = changing('weft/indexFolders', vim.NIL) },
  toggle = { run = toggle, words = SCOPES },
  restart = { run = restart },
  setup = { run = set_up_model },
  explore = calling('weft.explore', 'run'),
  accept = { run = accept, words = { 'word', 'line' } },
  next = calling('weft', 'next'),
  previous = calling('weft', 'previous'),
  dismiss = calling('weft', 'dismiss'),
  trigger = calling('weft', 'trigger'),
  ['next-edit'] = calling('weft.next_edits', 'next_or_ask'),
  ['refuse-edit'] = calling('weft.next_edits', 'refuse'),
  ['why-edit'] = calling('weft.follow_ups', 'why'),
  ['follow-ups'] = calling('weft.follow_ups', 'open'),
}

return M
