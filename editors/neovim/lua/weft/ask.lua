-- One question on its way to the server, and what comes back while it is answered.
--
-- Owns the stream of an answer: its token, who is told of each piece, and its end, which comes exactly once.
-- Knows no chat buffer.

local client = require('weft.client')
local window = require('weft.window')

local M = {}

local PREFIX = 'weft-ask-'

-- Who follows an answer that is being written, by the token of its stream.
local streams = {}
local n_asked = 0

--- Asks. `about` is { bufnr, first, last }, the lines (from 1) that the question is about, or nil.
--- `follow` has text(piece), restart(), citation(citation), conversation(id), note(sentence), and
--- finished(outcome) with one of { result =, error =, stopped = } set. The returned function stops the answer.
function M.start(question, conversation_id, about, follow)
  n_asked = n_asked + 1
  local token, work_token = PREFIX .. n_asked, PREFIX .. n_asked .. '-work'
  local function finish(outcome)
    streams[token], streams[work_token] = nil, nil
    follow.finished(outcome)
  end
  local params, bufnr, problem = M._params(question, conversation_id, about)
  if problem then
    finish({ error = problem })
    return function() end
  end
  params.partialResultToken, params.workDoneToken = token, work_token
  streams[token] = function(value)
    M._tell(follow, value)
  end
  streams[work_token] = function(value)
    if value.kind == 'report' and value.message then
      follow.note(value.message)
    end
  end
  local cancel = client.request('weft/ask', params, function(err, result)
    if err then
      finish({ error = err.message })
    elseif not result or result == vim.NIL then
      finish({ error = 'The server stopped before it had answered. :Weft restart, then ask again.' })
    else
      finish({ result = result })
    end
  end, bufnr)
  return function()
    if streams[token] then
      cancel()
      finish({ stopped = true })
    end
  end
end

--- What the server is told of: the selected lines, else where the cursor of the file's window stands.
function M._params(question, conversation_id, about)
  local params = { question = question, conversationId = conversation_id }
  local server = client.get()
  local encoding = server and server.offset_encoding or 'utf-16'
  if about then
    if server and not vim.lsp.buf_is_attached(about.bufnr, server.id) then
      return nil, nil, 'Weft does not see this buffer, so its lines cannot be asked about. Save it as a file first.'
    end
    params.textDocument = { uri = vim.uri_from_bufnr(about.bufnr) }
    -- The start of the line after: a selection that ends there holds the whole line before.
    params.selection = {
      start = { line = about.first - 1, character = 0 },
      ['end'] = { line = about.last, character = 0 },
    }
    return params, about.bufnr
  end
  local target = window.normal()
  local bufnr = target and vim.api.nvim_win_get_buf(target)
  if bufnr and server and vim.lsp.buf_is_attached(bufnr, server.id) then
    params = vim.tbl_extend('error', params, vim.lsp.util.make_position_params(target, encoding))
    return params, bufnr
  end
  return params
end

function M._tell(follow, value)
  if value.conversationId then
    follow.conversation(value.conversationId)
  end
  if value.restart then
    follow.restart()
  end
  if value.citation then
    follow.citation(value.citation)
  end
  if value.text then
    follow.text(value.text)
  end
end

client.on('$/progress', function(params)
  local token = params.token
  if type(token) ~= 'string' or token:sub(1, #PREFIX) ~= PREFIX then
    return false
  end
  -- What comes late, after a stop, goes to nobody.
  if streams[token] then
    streams[token](params.value)
  end
  return true
end)

return M
