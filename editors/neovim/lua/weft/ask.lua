-- `weft/ask` requests with a streamed answer.
--
-- Owns the progress tokens and their callbacks; `finished` is called exactly once. Knows no chat buffer.

local client = require('weft.client')
local window = require('weft.window')

local M = {}

local PREFIX = 'weft-ask-'

-- The callbacks of running requests, by progress token.
local streams = {}
local n_requests = 0

--- Asks a question. `options` has `conversation`, its id or nil; `about`, { bufnr, first, last }: the 1-based lines that
--- it is about, or nil; and `as_written`: without names of earlier questions.
--- `follow` has text(piece), restart(), citation(citation), conversation(id), asked_as(question), note(sentence), and
--- finished(outcome) with one of { result =, error =, stopped = } set. The returned function stops the answer.
function M.start(question, options, follow)
  n_requests = n_requests + 1
  local token, work_token = PREFIX .. n_requests, PREFIX .. n_requests .. '-work'
  local function finish(outcome)
    streams[token], streams[work_token] = nil, nil
    follow.finished(outcome)
  end
  local params, bufnr, problem = M._params(question, options)
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
      finish({ error = 'The server stopped before it answered. Run :Weft restart, then ask again.' })
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

--- The parameters of the request: the given lines, else the cursor of the last file window.
function M._params(question, options)
  local about = options.about
  local params = { question = question, conversationId = options.conversation }
  params.asWritten = options.as_written or nil
  local server = client.get()
  local encoding = server and server.offset_encoding or 'utf-16'
  if about then
    if server and not vim.lsp.buf_is_attached(about.bufnr, server.id) then
      return nil, nil, 'Weft is not attached to this buffer. Save it to a file, then ask again.'
    end
    params.textDocument = { uri = vim.uri_from_bufnr(about.bufnr) }
    -- Ends at the start of the next line, so that the last line is included.
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
  if value.askedAs then
    follow.asked_as(value.askedAs)
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
  -- Progress after a stop is ignored.
  if streams[token] then
    streams[token](params.value)
  end
  return true
end)

return M
