-- Ghost text by Neovim's own vim.lsp.inline_completion, which is there from 0.12 on.
--
-- Neovim asks and shows; this module stands between it and the server. It asks for nothing where there should be no
-- ghost text, cancels what is superseded, drops answers that come too late, and knows what is shown, so that an
-- item which Neovim still shows at its old place is never taken there. Owns the last suggestion of each buffer.

local client = require('weft.client')
local ghost = require('weft.ghost')
local suggestions = require('weft.suggestion')
local when = require('weft.when')

local M = {}

local METHOD = 'textDocument/inlineCompletion'
local AUTOMATIC, INVOKED = 2, 1

local cancel = nil
local namespace = vim.api.nvim_create_namespace('nvim.lsp.inline_completion')

-- By buffer: how Neovim is given items, how the server is asked, and what Neovim was given last.
local states = {}
-- By buffer: somebody asked by hand before Neovim did.
local pending = {}
client.on('ended', function()
  states, pending = {}, {}
end)
-- By the client's id: we stand between.
local between = {}

--- Has Neovim show what `server` completes in this buffer.
function M.attach(server, bufnr)
  if not between[server.id] then
    between[server.id] = true
    local request = server.request
    server.request = function(self, method, params, handler, number)
      -- Ours say how the text is indented, Neovim's do not.
      if method == METHOD and not params.formattingOptions then
        return M._asked_by_neovim(self, handler, number)
      end
      return request(self, method, params, handler, number)
    end
  end
  -- For one server alone Neovim would not notice that it ended, and go on asking it.
  vim.lsp.inline_completion.enable(true, { bufnr = bufnr })
end

--- The suggestion on the screen and what is left of it, or nil.
function M.visible()
  local bufnr = vim.api.nvim_get_current_buf()
  local suggestion = states[bufnr] and states[bufnr].suggestion
  local on_screen = #vim.api.nvim_buf_get_extmarks(bufnr, namespace, 0, -1, {}) > 0
  local rest = suggestion and on_screen and suggestions.rest(suggestion, ghost.cursor()) or nil
  return rest and suggestion, rest
end

--- Shows one of several suggestions, all of which fit here; Neovim says which of how many.
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

--- Takes it off the screen until something is typed.
function M.dismiss()
  M.clear()
  states[vim.api.nvim_get_current_buf()].refused = ghost.now()
end

--- Neovim lets go of its item, and then `take` edits the text. False when it has none.
function M.taking(take)
  return vim.lsp.inline_completion.get({
    on_accept = function()
      take()
    end,
  })
end

--- Asks by hand. `on_empty` is called when there is nothing to show.
function M.trigger(on_empty)
  local bufnr = vim.api.nvim_get_current_buf()
  if not client.get(bufnr) or not when.may_show(true) then
    return false
  end
  if states[bufnr] then
    M._request(states[bufnr], INVOKED, on_empty)
  else
    -- Neovim shows only what it asked for; it does so a moment after insert mode began.
    pending[bufnr] = on_empty
  end
  return true
end

--- Neovim waited for a pause and wants items.
function M._asked_by_neovim(server, handler, bufnr)
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
    -- What a person asked for stays: unasked the server may say something else, or nothing.
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
