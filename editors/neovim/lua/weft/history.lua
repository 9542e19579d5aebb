-- Earlier conversations of this workspace: listed, opened again, deleted.
--
-- Owns the buffer weft://history. The conversations are the server's, who keeps them; nothing is kept here.

local chat = require('weft.chat')
local client = require('weft.client')
local config = require('weft.config')
local notice = require('weft.notice')
local window = require('weft.window')

local M = {}

local HELP = '<CR> opens  dd deletes  n new  r again  q closes'
local QUESTION = 'dd again deletes it from this machine'
local NS = vim.api.nvim_create_namespace('weft.history')
local DOOMED = vim.api.nvim_create_namespace('weft.doomed')

-- The conversations by their row, the words that were looked for, and the conversation that dd was typed at.
local shown, wanted, doomed = {}, '', nil

--- Lists the conversations, the last first; those with these words, where some are given.
function M.open(text)
  wanted = text or ''
  M._request({ action = 'list', text = wanted }, function(result)
    local bufnr = M._buffer()
    M._write(bufnr, result.conversations)
    window.show(bufnr, config.options.pages)
  end)
end

function M._resume()
  local conversation = M._under_cursor()
  if not conversation then
    return
  end
  M._request({ action = 'get', id = conversation.id }, function(result)
    if #result.turns == 0 then
      return notice.info('this conversation is not there any more. r looks again.')
    end
    chat.resume(conversation.id, result.turns)
  end)
end

--- Deletes what was asked to be deleted just before: no prompt holds up an editor.
function M._delete()
  local conversation = M._under_cursor()
  if not conversation then
    return
  end
  if conversation.id ~= doomed then
    M._doom(conversation.id)
    return
  end
  M._request({ action = 'delete', id = conversation.id }, function()
    if chat.conversation() == conversation.id then
      chat.forget()
    end
    M.open(wanted)
  end)
end

--- Asks below the line whether this conversation is to go; nil takes the question back.
function M._doom(id)
  doomed = id
  vim.api.nvim_buf_clear_namespace(0, DOOMED, 0, -1)
  if id then
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    vim.api.nvim_buf_set_extmark(0, DOOMED, row, 0, { virt_lines = { { { QUESTION, 'WarningMsg' } } } })
  end
end

function M._request(params, use)
  client.request('weft/conversations', params, function(err, result)
    if err then
      notice.warn(err.message)
    elseif not result or vim.tbl_isempty(result) then
      notice.warn('the server stopped before it had answered. :Weft restart, then look again.')
    else
      use(result)
    end
  end)
end

function M._under_cursor()
  local conversation = shown[vim.api.nvim_win_get_cursor(0)[1]]
  if not conversation then
    notice.info('there is no conversation on this line.')
  end
  return conversation
end

function M._write(bufnr, conversations)
  shown = {}
  local lines = {}
  for row, conversation in ipairs(conversations) do
    shown[row] = conversation
    local when = os.date('%Y-%m-%d %H:%M', math.floor(conversation.changedAt))
    local turns = conversation.turns == 1 and '1 turn' or conversation.turns .. ' turns'
    table.insert(lines, string.format('%s  %s  (%s)', when, M._title(conversation), turns))
  end
  if #lines == 0 then
    local words = wanted == '' and '' or ' with "' .. wanted .. '"'
    lines = { 'No conversation' .. words .. ' in this workspace yet. :Weft ask begins one.' }
  end
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.api.nvim_buf_clear_namespace(bufnr, NS, 0, -1)
  vim.api.nvim_buf_set_extmark(bufnr, NS, #lines - 1, 0, { virt_lines = { { { HELP, 'Comment' } } } })
end

function M._title(conversation)
  return (conversation.title:gsub('%s+', ' '))
end

function M._buffer()
  local bufnr, is_new = window.scratch('weft://history')
  if is_new then
    vim.bo[bufnr].bufhidden = 'wipe'
    local function map(keys, fn, description)
      vim.keymap.set('n', keys, fn, { buffer = bufnr, nowait = true, desc = 'Weft: ' .. description })
    end
    map('<CR>', M._resume, 'open the conversation')
    map('dd', M._delete, 'delete the conversation')
    map('n', chat.new, 'begin a new conversation')
    map('r', function()
      M.open(wanted)
    end, 'look again')
    map('q', window.close, 'close the list')
    vim.api.nvim_create_autocmd({ 'CursorMoved', 'BufLeave' }, {
      buffer = bufnr,
      callback = function()
        M._doom(nil)
      end,
    })
    vim.bo[bufnr].filetype = 'wefthistory'
  end
  return bufnr
end

return M
