-- `:WeftSearch`: a search of the workspace in the quickfix list.
--
-- Owns how a hit is shown in the list. The server ranks the hits and words the notes.

local client = require('weft.client')
local notice = require('weft.notice')

local M = {}

local LIMIT = 50

local cancel = nil

--- Searches definitions, code and documents by name and words, and opens the quickfix list with the hits.
--- A newer search cancels the older one.
function M.run(query)
  query = vim.trim(query)
  if query == '' then
    query = vim.fn.expand('<cword>')
  end
  if query == '' then
    return notice.warn('give a name or words: :WeftSearch evict')
  end
  if cancel then
    cancel()
  end
  cancel = client.request('weft/search', { query = query, limit = LIMIT }, function(err, result)
    cancel = nil
    if err then
      return notice.warn(err.message)
    end
    if not result or result == vim.NIL then
      return notice.warn('the server stopped before it answered. Search again.')
    end
    for _, note in ipairs(result.notes) do
      notice.info(note)
    end
    if #result.hits > 0 then
      M._list(query, result.hits)
    end
  end)
end

function M._list(query, hits)
  local items = {}
  for _, hit in ipairs(hits) do
    if hit.uri and hit.uri ~= vim.NIL then
      local symbol = hit.symbol ~= '' and hit.symbol .. ' (' .. hit.kind .. ')  ' or ''
      table.insert(items, {
        filename = vim.uri_to_fname(hit.uri),
        lnum = hit.line + 1,
        text = symbol .. hit.preview,
      })
    end
  end
  vim.fn.setqflist({}, ' ', { title = 'Weft: ' .. query, items = items })
  vim.cmd('botright copen')
end

return M
