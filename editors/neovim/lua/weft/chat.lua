-- The chat buffer weft://chat: questions about the repository and their answers.
--
-- Owns the open conversation, the running request and the keys of the buffer. `transcript.lua` owns the text, `ask.lua`
-- the stream, `history.lua` the list of stored conversations.

local ask = require('weft.ask')
local config = require('weft.config')
local jump = require('weft.jump')
local notice = require('weft.notice')
local transcript = require('weft.transcript')
local window = require('weft.window')

local M = {}

-- The window bar shows fewer keys where less than this many cells would be left for the title.
local TITLE_CELLS = 24

-- The server ends a stored answer that was stopped with the same text.
local STOPPED = '(The answer was stopped here.)'

-- `bufnr` is the buffer and `text` its transcript, `id` the conversation of the next question, `title` its first question,
-- `stop` cancels the running request, `asked` is the last question with the lines that it is about, `last` is the
-- question, the citations and the evidence of the last answer.
local chat = {}

--- Opens the chat with the cursor in the input.
function M.open()
  M._ensure()
  M._show()
  vim.api.nvim_win_set_cursor(0, { vim.api.nvim_buf_line_count(chat.bufnr), 0 })
end

--- Asks a question, about the lines range[1] to range[2] of the current buffer if a range is given. Without a question,
--- opens the chat. Stays in the current window; the chat shows the question, and its answer below it.
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
  M._show_question()
end

--- Asks the question in the input.
function M.send()
  M._ensure()
  local question = chat.text:typed()
  if question ~= '' and M._is_free() then
    chat.text:set_typed('')
    M._start(question)
    vim.cmd('stopinsert')
    M._show_question()
  end
end

--- Goes to the end of the input, in insert mode.
function M.write()
  M.open()
  vim.bo.modifiable = true
  vim.cmd('startinsert!')
end

--- Asks the last question again, without the names that the server inserted. Stops the answer with them.
function M.as_written()
  M._ensure()
  local asked = chat.asked
  if not asked then
    return notice.info('no question was asked yet.')
  end
  M.stop()
  M._start(asked.question, asked.about, true)
  M._show_question()
end

--- Stops the running answer and keeps its text. True when there was one.
function M.stop()
  local stop = chat.stop
  if stop then
    stop()
  end
  return stop ~= nil
end

--- Starts a new conversation.
function M.new()
  M.forget()
  M.open()
end

--- Closes the conversation without opening the chat.
function M.forget()
  M.stop()
  M._ensure()
  M._begin()
end

--- Continues a stored conversation.
function M.resume(id, turns)
  M.forget()
  chat.id, chat.title = id, turns[1] and turns[1].question
  for _, turn in ipairs(turns) do
    local has_answer = turn.answer and turn.answer ~= vim.NIL
    chat.text:ask(turn.question)
    chat.text:asked_as(turn.askedAs)
    chat.asked = { question = turn.question }
    local notes = has_answer and {} or { 'This question was not answered.' }
    chat.text:finish(has_answer and turn.answer or '', turn.citations, notes)
    chat.last = { question = turn.question, citations = turn.citations, exhibits = {} }
  end
  M.open()
end

--- The id of the open conversation; nil before its first question.
function M.conversation()
  return chat.id
end

--- Whether an answer streams; for status lines.
function M.is_busy()
  return chat.stop ~= nil
end

--- Lists the citations and the evidence of the last answer in the quickfix window; in a report, its links.
function M.citations()
  if vim.bo.filetype == 'weftpage' then
    return jump.list()
  end
  local last = chat.last or { citations = {}, exhibits = {} }
  local found, seen = {}, {}
  for _, group in ipairs({ last.citations, last.exhibits }) do
    for _, cited in ipairs(group) do
      local link = transcript.link(cited)
      if link and not seen[link.uri .. link.place] then
        seen[link.uri .. link.place] = true
        local line = vim.trim(vim.split(vim.trim(cited.text), '\n')[1])
        link.text = cited.why and cited.why ~= '' and cited.why .. ': ' .. line or line
        table.insert(found, link)
      end
    end
  end
  jump.to_quickfix(last.question or 'citations', found)
end

--- False, with a message, while an answer streams: the next question may refer to it.
function M._is_free()
  if chat.stop then
    notice.info('an answer is being generated. Run :Weft stop to stop it, then ask again.')
  end
  return not chat.stop
end

function M._start(question, about, as_written)
  chat.title, chat.asked = chat.title or question, { question = question, about = about }
  chat.text:ask(question, about and M._location(about))
  chat.text:set_busy('waiting ...  <C-c> stops')
  -- An error may come before `start` returns.
  local is_over = false
  local text = chat.text
  local stop = ask.start(question, { conversation = chat.id, about = about, as_written = as_written }, {
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
    asked_as = function(resolved)
      text:asked_as(resolved)
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
  vim.cmd('redrawstatus!')
end

function M._finish(question, outcome)
  if not chat.bufnr then
    return
  end
  vim.cmd('redrawstatus!')
  local result = outcome.result
  if result then
    -- Empty after /forget.
    chat.id = result.conversationId ~= '' and result.conversationId or nil
    chat.text:asked_as(result.askedAs)
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
      table.insert(notes, 'The question is in the input below; ask it again.')
    end
    chat.text:finish(nil, nil, notes)
  end
end

--- The notes below an answer.
function M._notes(result)
  local notes = {}
  if vim.trim(result.text) == '' then
    table.insert(notes, 'The answer is empty. Check :Weft status, or rephrase the question.')
  end
  if result.model ~= '' then
    table.insert(notes, 'Written by ' .. result.model .. '.')
  end
  return vim.list_extend(notes, result.notes)
end

function M._location(about)
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(about.bufnr), ':.')
  return {
    uri = vim.uri_from_bufnr(about.bufnr),
    range = { start = { line = about.first - 1, character = 0 }, ['end'] = { line = about.last - 1, character = 0 } },
    place = string.format('%s:%d-%d', name, about.first, about.last),
    text = 'selected',
  }
end

--- The chat's window bar: the title of the conversation, and the keys as far as they leave room for it.
function M.winbar()
  local title = (chat.title or 'New conversation'):gsub('%s+', ' ')
  local first = chat.stop and ' <C-c> stop ' or ' <CR> ask '
  for _, keys in ipairs({ first .. '· gf open · i write · :Weft history ', first .. '· gf open ', first }) do
    local room = vim.api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(keys) - 1
    if room >= math.min(TITLE_CELLS, vim.fn.strdisplaywidth(title)) or keys == first then
      if vim.fn.strdisplaywidth(title) > room then
        title = vim.fn.strcharpart(title, 0, math.max(0, room - 2)) .. '…'
      end
      return ' %#Title#' .. title:gsub('%%', '%%%%') .. '%*%=' .. keys
    end
  end
end

--- The text of a closed fold.
function M.fold_text()
  local n = vim.v.foldend - vim.v.foldstart
  return string.format('+ %s  (%d lines, zo opens)', vim.fn.getline(vim.v.foldstart), n)
end

--- Goes to the window of the chat, or opens one, with its options.
function M._show()
  window.show(chat.bufnr, config.options.chat)
  if vim.fn.exists('+winbar') == 1 then
    vim.opt_local.winbar = "%{%v:lua.require'weft.chat'.winbar()%}"
  end
  -- Long paths go on behind a `/` or a `.`, indented.
  vim.opt_local.breakindent = true
  vim.opt_local.breakindentopt = 'shift:2'
  vim.opt_local.scrolloff = 0
  vim.opt_local.foldmethod = 'manual'
  vim.opt_local.foldenable = true
  vim.opt_local.foldlevel = 0
  vim.opt_local.foldtext = "v:lua.require'weft.chat'.fold_text()"
  chat.text:fold(vim.api.nvim_get_current_win())
end

--- Brings the last question to the top of the windows of the chat, with the cursor there: the view stays at the first
--- line of the answer while more is written below.
function M._show_question()
  local question, answer = chat.text:rows()
  for _, shown in ipairs(vim.fn.win_findbuf(chat.bufnr)) do
    vim.api.nvim_win_call(shown, function()
      vim.fn.winrestview({ topline = question + 1, lnum = answer + 1, col = 0, skipcol = 0 })
    end)
  end
end

--- Creates the buffer with its keys and an empty conversation, unless it exists.
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
  chat.title, chat.asked = nil, nil
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
  end, 'ask the question, or open the location')
  map('i', '<C-s>', M.send, 'ask the question')
  map('n', '<C-c>', M.stop, 'stop the answer')
  map('n', 'ga', M.as_written, 'ask the last question again as written')
  for _, key in ipairs({ 'i', 'a', 'I', 'A', 'o', 'O' }) do
    vim.keymap.set('n', key, function()
      local is_input = chat.text:is_input(vim.api.nvim_win_get_cursor(0)[1] - 1)
      return is_input and key or "<Cmd>lua require('weft.chat').write()<CR>"
    end, { buffer = bufnr, expr = true, desc = 'Weft: write the next question' })
  end
  local function on(events, fn)
    vim.api.nvim_create_autocmd(events, { buffer = bufnr, callback = fn })
  end
  -- Only the input is modifiable.
  on({ 'CursorMoved', 'CursorMovedI', 'BufEnter', 'WinEnter' }, function()
    vim.bo[bufnr].modifiable = chat.text ~= nil and chat.text:is_input(vim.api.nvim_win_get_cursor(0)[1] - 1)
  end)
  on({ 'BufUnload', 'BufWipeout' }, function()
    local stop = chat.stop
    chat = {}
    if stop then
      stop()
    end
    -- `:bdelete` and `:edit` leave an unloaded buffer of this name.
    vim.schedule(function()
      pcall(vim.api.nvim_buf_delete, bufnr, { force = true })
    end)
  end)
  vim.bo[bufnr].filetype = 'weftchat'
  vim.bo[bufnr].syntax = 'markdown'
  vim.api.nvim_buf_call(bufnr, function()
    vim.cmd('silent! syntax clear markdownError') -- an underscore in a name is no error here
  end)
end

return M
