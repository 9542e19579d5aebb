-- The list of stored conversations of this workspace: open, search, delete.
--
-- Owns the buffer weft://history. The server stores the conversations.

local chat = require('weft.chat')
local client = require('weft.client')
local config = require('weft.config')
local notice = require('weft.notice')
local window = require('weft.window')

local M = {}

local HELP = '<CR> open  dd delete  n new  r refresh  q close'
local CONFIRMATION = 'Press dd again to delete this conversation'
local NS = vim.api.nvim_create_namespace('weft.history')
local PENDING = vim.api.nvim_create_namespace('weft.delete')

-- The conversations by row, the search text, and the conversation whose deletion is to be confirmed.
local shown, search, to_delete = {}, '', nil

--- Lists the conversations, newest first; only those that contain `text`, if given.
function M.open(text)
  search = text or ''
  M._request({ action = 'list', text = search }, function(result)
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
      return notice.info('this conversation was deleted. Press r to refresh the list.')
    end
    chat.resume(conversation.id, result.turns)
  end)
end

--- Deletes the conversation under the cursor; the first call asks for confirmation, without a blocking prompt.
function M._delete()
  local conversation = M._under_cursor()
  if not conversation then
    return
  end
  if conversation.id ~= to_delete then
    M._confirm(conversation.id)
    return
  end
  M._request({ action = 'delete', id = conversation.id }, function()
    if chat.conversation() == conversation.id then
      chat.forget()
    end
    M.open(search)
  end)
end

--- Shows the confirmation below the line; nil removes it.
function M._confirm(id)
  to_delete = id
  vim.api.nvim_buf_clear_namespace(0, PENDING, 0, -1)
  if id then
    local row = vim.api.nvim_win_get_cursor(0)[1] - 1
    vim.api.nvim_buf_set_extmark(0, PENDING, row, 0, { virt_lines = { { { CONFIRMATION, 'WarningMsg' } } } })
  end
end

function M._request(params, use)
  client.request('weft/conversations', params, function(err, result)
    if err then
      notice.warn(err.message)
    elseif not result or vim.tbl_isempty(result) then
      notice.warn('the server stopped before it answered. Run :Weft restart, then try again.')
    else
      use(result)
    end
  end)
end

function M._under_cursor()
  local conversation = shown[vim.api.nvim_win_get_cursor(0)[1]]
  if not conversation then
    notice.info('no conversation on this line.')
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
    local words = search == '' and '' or ' with "' .. search .. '"'
    lines = { 'No conversation' .. words .. ' in this workspace. Run :Weft ask to start one.' }
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
    map('n', chat.new, 'start a new conversation')
    map('r', function()
      M.open(search)
    end, 'refresh the list')
    map('q', window.close, 'close the list')
    vim.api.nvim_create_autocmd({ 'CursorMoved', 'BufLeave' }, {
      buffer = bufnr,
      callback = function()
        M._confirm(nil)
      end,
    })
    vim.bo[bufnr].filetype = 'wefthistory'
  end
  return bufnr
end

return M
