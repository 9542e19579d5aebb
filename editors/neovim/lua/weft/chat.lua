-- The chat: questions about the repository, asked and answered in one buffer, weft://chat.
--
-- Owns the conversation that is open, the answer that is being written, and the keys of the buffer.
-- The text is `transcript.lua`'s, the stream is `ask.lua`'s, old conversations are found in `history.lua`.

local ask = require('weft.ask')
local config = require('weft.config')
local jump = require('weft.jump')
local notice = require('weft.notice')
local transcript = require('weft.transcript')
local window = require('weft.window')

local M = {}

-- The server ends what it keeps of such an answer with the same words.
local STOPPED = '(The answer was stopped here.)'

-- `bufnr` is the buffer and `text` its transcript, `id` the conversation that the next question goes on with, `stop`
-- ends the answer that is being written, `last` is the question, the citations and the evidence of the last answer.
local chat = {}

--- Shows the chat and goes to where a question is typed.
function M.open()
  M._ensure()
  window.show(chat.bufnr, config.options.chat)
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(chat.bufnr), 0 })
end

--- Asks, about the lines from range[1] to range[2] of the current buffer where a range is given. Without a question
--- the chat opens. The cursor stays where it is.
function M.ask(question, range)
  if vim.trim(question or '') == '' then
    return M.open()
  end
  local bufnr = vim.api.nvim_get_current_buf()
  local about = range and { bufnr = bufnr, first = range[1], last = range[2] }
  M._ensure()
  if not M._is_free() then
    return
  end
  M._start(question, about)
  if vim.fn.bufwinid(chat.bufnr) == -1 then
    local before = vim.api.nvim_get_current_win()
    M.open()
    vim.api.nvim_set_current_win(before)
  end
end

--- Asks what is typed in the chat.
function M.send()
  M._ensure()
  local question = chat.text:typed()
  if question ~= '' and M._is_free() then
    chat.text:set_typed('')
    M._start(question)
  end
end

--- Stops the answer that is being written; what is there stays. True when there was one.
function M.stop()
  local stop = chat.stop
  if stop then
    stop()
  end
  return stop ~= nil
end

--- Begins a new conversation.
function M.new()
  M.forget()
  M.open()
end

--- Leaves the conversation, shown or not.
function M.forget()
  M.stop()
  M._ensure()
  M._begin()
end

--- Goes on with a conversation: its id and its turns as the server has them.
function M.resume(id, turns)
  M.forget()
  chat.id = id
  for _, turn in ipairs(turns) do
    local has_answer = turn.answer and turn.answer ~= vim.NIL
    chat.text:ask(turn.question)
    local notes = has_answer and {} or { 'No answer was written.' }
    chat.text:finish(has_answer and turn.answer or '', turn.citations, notes)
    chat.last = { question = turn.question, citations = turn.citations, exhibits = {} }
  end
  M.open()
end

--- The conversation that is open; nil before its first question.
function M.conversation()
  return chat.id
end

--- Whether an answer is being written, for who draws a status line.
function M.is_busy()
  return chat.stop ~= nil
end

--- The citations and the evidence of the last answer in the quickfix window; from a page, its places.
function M.citations()
  if vim.bo.filetype == 'weftpage' then
    return jump.list()
  end
  local last = chat.last or { citations = {}, exhibits = {} }
  local found, seen = {}, {}
  for _, group in ipairs({ last.citations, last.exhibits }) do
    for _, place in ipairs(group) do
      local link = transcript.link(place)
      if link and not seen[link.uri .. link.place] then
        seen[link.uri .. link.place] = true
        local line = vim.trim(vim.split(vim.trim(place.text), '\n')[1])
        link.text = place.why and place.why ~= '' and place.why .. ': ' .. line or line
        table.insert(found, link)
      end
    end
  end
  jump.to_quickfix(last.question or 'citations', found)
end

--- One answer at a time: the next question may lean on this one.
function M._is_free()
  if chat.stop then
    notice.info('an answer is being written. :Weft stop ends it, then ask again.')
  end
  return not chat.stop
end

function M._start(question, about)
  chat.text:ask(question, about and M._place(about))
  chat.text:set_busy('is asked ...  <C-c> stops')
  -- An error may come before `start` returns.
  local is_over = false
  local text = chat.text
  local stop = ask.start(question, chat.id, about, {
    text = function(piece)
      text:set_busy('...  <C-c> stops')
      text:append(piece)
    end,
    restart = function()
      text:restart()
    end,
    citation = function(citation)
      text:cite(citation)
    end,
    conversation = function(id)
      chat.id = id
    end,
    note = function(sentence)
      text:set_busy(sentence)
    end,
    finished = function(outcome)
      is_over = true
      chat.stop = nil
      M._finish(question, outcome)
    end,
  })
  chat.stop = not is_over and stop or nil
end

function M._finish(question, outcome)
  if not chat.bufnr then
    return
  end
  local result = outcome.result
  if result then
    -- A conversation that was forgotten has no id to go on with.
    chat.id = result.conversationId ~= '' and result.conversationId or nil
    chat.text:finish(result.text, result.citations, M._notes(result))
    chat.last = { question = question, citations = result.citations, exhibits = result.exhibits }
  else
    chat.last = { question = question, citations = chat.text.citations, exhibits = {} }
    if outcome.stopped then
      return chat.text:finish(chat.text:answer():gsub('%s+$', '') .. '\n\n' .. STOPPED, nil, {})
    end
    local notes = { outcome.error }
    if chat.text:typed() == '' then
      chat.text:set_typed(question)
      table.insert(notes, 'The question stands below, to be asked again.')
    end
    chat.text:finish(nil, nil, notes)
  end
end

--- What a person should know of an answer, below it.
function M._notes(result)
  local notes = {}
  if vim.trim(result.text) == '' then
    table.insert(notes, 'The answer is empty. :Weft status says whether something is wrong; else ask in other words.')
  end
  if result.model ~= '' then
    table.insert(notes, 'Written by ' .. result.model .. '.')
  end
  return vim.list_extend(notes, result.notes)
end

function M._place(about)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(about.bufnr), ':.')
  return {
    uri = vim.uri_from_bufnr(about.bufnr),
    range = { start = { line = about.first - 1, character = 0 }, ['end'] = { line = about.last - 1, character = 0 } },
    place = string.format('%s:%d-%d', name, about.first, about.last),
    text = 'selected',
  }
end

--- The buffer, with its keys, and a conversation in it.
function M._ensure()
  local bufnr, is_new = window.scratch('weft://chat')
  if is_new then
    chat.bufnr = bufnr
    M._prepare(bufnr)
    M._begin()
  end
end

function M._begin()
  chat.text, chat.id, chat.last = transcript.new(chat.bufnr), nil, nil
end

function M._prepare(bufnr)
  vim.bo[bufnr].bufhidden = 'hide'
  vim.bo[bufnr].buftype = 'nofile'
  vim.bo[bufnr].omnifunc = "v:lua.require'weft.slash'.complete"
  jump.attach(bufnr)
  local function map(mode, keys, fn, description)
    vim.keymap.set(mode, keys, fn, { buffer = bufnr, desc = 'Weft: ' .. description })
  end
  map('n', '<CR>', function()
    if chat.text:is_input(vim.api.nvim_win_get_cursor(0)[1] - 1) then
      M.send()
    else
      jump.follow()
    end
  end, 'ask what is typed, or open the place')
  map('i', '<C-s>', M.send, 'ask what is typed')
  map('n', '<C-c>', M.stop, 'stop the answer')
  local function on(events, fn)
    vim.api.nvim_create_autocmd(events, { buffer = bufnr, callback = fn })
  end
  -- What was said stays as it was said: only the question can be changed.
  on({ 'CursorMoved', 'CursorMovedI', 'BufEnter', 'WinEnter' }, function()
    vim.bo[bufnr].modifiable = chat.text ~= nil and chat.text:is_input(vim.api.nvim_win_get_cursor(0)[1] - 1)
  end)
  on({ 'BufUnload', 'BufWipeout' }, function()
    local stop = chat.stop
    chat = {}
    if stop then
      stop()
    end
    -- `:bdelete` and `:edit` leave a buffer that is no chat.
    vim.schedule(function()
      pcall(vim.api.nvim_buf_delete, bufnr, { force = true })
    end)
  end)
  vim.bo[bufnr].filetype = 'weftchat'
  vim.bo[bufnr].syntax = 'markdown'
end

return M
