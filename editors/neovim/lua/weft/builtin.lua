-- Ghost text displayed by vim.lsp.inline_completion (Neovim 0.12 and later).
--
-- Neovim requests and displays; this module wraps the client's `request`. It sends no request where ghost text is
-- disabled, cancels superseded requests, drops outdated answers, and tracks the displayed item, so that an item which
-- Neovim still shows at an old position is never inserted there. Owns the last suggestion of each buffer.

local client = require('weft.client')
local ghost = require('weft.ghost')
local suggestions = require('weft.suggestion')
local when = require('weft.when')

local M = {}

local METHOD = 'textDocument/inlineCompletion'
local AUTOMATIC, INVOKED = 2, 1

local cancel = nil
local namespace = vim.api.nvim_create_namespace('nvim.lsp.inline_completion')

-- By buffer: the server, the function that returns items to Neovim, and the last suggestion.
local states = {}
-- By buffer: the `on_empty` of a trigger before the first request of Neovim.
local pending = {}
client.on('ended', function()
  states, pending = {}, {}
end)
-- By client id: whether `request` is wrapped.
local wrapped = {}

--- Enables inline completion of `server` in this buffer.
function M.attach(server, bufnr)
  if not wrapped[server.id] then
    wrapped[server.id] = true
    local request = server.request
    server.request = function(self, method, params, handler, number)
      -- Requests of this module have formattingOptions, those of Neovim do not.
      if method == METHOD and not params.formattingOptions then
        return M._answer_neovim(self, handler, number)
      end
      return request(self, method, params, handler, number)
    end
  end
  -- Not for this client alone: then Neovim would send requests to it after its exit.
  vim.lsp.inline_completion.enable(true, { bufnr = bufnr })
end

--- The displayed suggestion and its remaining text, or nil.
function M.visible()
  local bufnr = vim.api.nvim_get_current_buf()
  local suggestion = states[bufnr] and states[bufnr].suggestion
  local on_screen = #vim.api.nvim_buf_get_extmarks(bufnr, namespace, 0, -1, {}) > 0
  local rest = suggestion and on_screen and suggestions.rest(suggestion, ghost.cursor()) or nil
  return rest and suggestion, rest
end

--- Shows the suggestion at `index` of a list, all of which match here; Neovim shows the index and the count.
function M.show(list, index)
  local state = states[vim.api.nvim_get_current_buf()]
  if not state then
    return
  end
  local row, col, line = ghost.cursor()
  state.suggestion = list[index]
  state.give(vim.tbl_map(function(suggestion)
    local rest = suggestions.rest(suggestion, row, col, line)
    return suggestions.to_item(suggestion, rest, state.server.offset_encoding, col, line)
  end, list))
  if #list > 1 then
    vim.lsp.inline_completion.select({ count = index - 1 })
  end
end

function M.clear()
  local state = states[vim.api.nvim_get_current_buf()]
  if state then
    state.suggestion = nil
    state.give({})
  end
end

--- Hides the suggestion until the text changes.
function M.dismiss()
  M.clear()
  states[vim.api.nvim_get_current_buf()].refused = ghost.now()
end

--- Removes the item from Neovim's display, then runs `take`, which edits the text. False when there is none.
function M.taking(take)
  return vim.lsp.inline_completion.get({
    on_accept = function()
      take()
    end,
  })
end

--- Requests a completion explicitly. `on_empty` is called when there is none.
function M.trigger(on_empty)
  local bufnr = vim.api.nvim_get_current_buf()
  if not client.get(bufnr) or not when.may_show(true) then
    return false
  end
  if states[bufnr] then
    M._request(states[bufnr], INVOKED, on_empty)
  else
    -- Neovim displays only the items of its own request, which follows shortly after the start of insert mode.
    pending[bufnr] = on_empty
  end
  return true
end

--- Answers a request of Neovim.
function M._answer_neovim(server, handler, bufnr)
  bufnr = (bufnr or 0) == 0 and vim.api.nvim_get_current_buf() or bufnr
  local state = states[bufnr] or {}
  states[bufnr] = state
  state.server = server
  state.give = function(items)
    handler(nil, { items = items }, { client_id = server.id, bufnr = bufnr, method = METHOD })
  end
  local suggestion, on_empty = M.visible(), pending[bufnr]
  pending[bufnr] = nil
  local refused = vim.deep_equal(state.refused, ghost.now()) and not on_empty
  if bufnr ~= vim.api.nvim_get_current_buf() or refused or not when.may_show((suggestion or on_empty) ~= nil) then
    state.give({})
  elseif on_empty then
    M._request(state, INVOKED, on_empty)
  elseif suggestion and suggestion.chosen then
    -- A triggered or chosen suggestion stays: an automatic request may return another or none.
    M.show({ suggestion }, 1)
  elseif when.may_show(false) then
    M._request(state, AUTOMATIC)
  end
  return true
end

function M._request(state, kind, on_empty)
  if cancel then
    cancel()
  end
  cancel = ghost.request(M, state.server, kind, function(suggestion)
    cancel = nil
    if suggestion then
      M.show({ suggestion }, 1)
    else
      M.clear()
      if on_empty then
        on_empty()
      end
    end
  end)
end

return M
