-- Ghost text displayed by Weft itself: requests while typing, display and update.
--
-- Owns the displayed suggestion and the request in flight. An answer is shown only if buffer, text and cursor are the
-- same as at the request. While the user types the suggested text, the rest stays displayed without a gap, and the
-- server confirms it. From Neovim 0.12 on, `builtin.lua` does this unless `ghost.display` is 'own'.

local client = require('weft.client')
local compat = require('weft.compat')
local config = require('weft.config')
local draw = require('weft.draw')
local log = require('weft.log')
local notice = require('weft.notice')
local suggestions = require('weft.suggestion')
local when = require('weft.when')

local M = {}

local AUTOMATIC, INVOKED = 2, 1

-- The displayed suggestion: `bufnr`, `suggestion`, `hint`.
local shown = nil
-- Cancels the request in flight; the debounce timer.
local cancel = nil
local timer = nil
-- The state (see `now`) that `update` handled last.
local seen = nil
-- The last suggestion that was reported as shown.
local reported_id = nil

--- Creates the autocommands in `group`.
function M.enable(group)
  local function on(events, fn)
    vim.api.nvim_create_autocmd(events, { group = group, callback = fn })
  end
  timer = timer or compat.uv.new_timer()
  on({ 'TextChangedI', 'CursorMovedI', 'TextChangedP' }, M.update)
  -- These events precede insert mode, or the end of the popup menu.
  on({ 'InsertEnter', 'CompleteDone' }, function()
    vim.schedule(M.update)
  end)
  on({ 'InsertLeave', 'BufLeave', 'CmdlineEnter' }, M.clear)
end

--- The displayed suggestion and its remaining text, or nil.
function M.visible()
  if not shown or shown.bufnr ~= vim.api.nvim_get_current_buf() then
    return nil
  end
  local rest = suggestions.rest(shown.suggestion, M.cursor())
  return rest and shown.suggestion, rest
end

--- Shows the suggestion at `index` of a list, all of which match here, with the index and the count.
function M.show(list, index)
  M._draw(list[index], #list > 1 and string.format(' (%d/%d)', index, #list) or nil)
end

--- Hides the suggestion and cancels the request.
function M.clear()
  if shown then
    draw.clear(shown.bufnr)
    shown = nil
  end
  seen = nil
  M.cancel_request()
end

--- Hides the suggestion until the text changes.
function M.dismiss()
  M.clear()
  seen = M.now()
end

--- Runs `take`, which edits the text; scheduled where an `expr` mapping forbids edits.
function M.taking(take)
  local ok, problem = pcall(take)
  local forbidden = tostring(problem):match('E%d+: Not allowed') or tostring(problem):match('Failed to save undo')
  if not ok and forbidden then
    vim.schedule(take)
  elseif not ok then
    error(problem, 0)
  end
  return true
end

--- Cancels the request in flight; what is shown stays.
function M.cancel_request()
  if timer then
    timer:stop()
  end
  if cancel then
    cancel()
    cancel = nil
  end
end

--- Requests a completion explicitly: without a delay, and also where ghost text is disabled. `on_empty` is called when
--- there is none.
function M.trigger(on_empty)
  if not when.may_show(true) or not client.get(0) then
    return false
  end
  M.cancel_request()
  M._request(INVOKED, on_empty)
  return true
end

--- Updates the display for the current text and cursor, and requests a completion.
function M.update()
  if not when.may_show(shown ~= nil) then
    return M.clear()
  end
  local now = M.now()
  if vim.deep_equal(now, seen) then
    return
  end
  local suggestion = M.visible()
  if suggestion then
    M.cancel_request()
    M._draw(suggestion, shown.hint)
  else
    M.clear()
  end
  seen = now
  -- A triggered or chosen suggestion stays: an automatic request may return another or none.
  if (suggestion and suggestion.chosen) or not when.may_show(false) then
    return
  end
  timer:start(
    config.options.ghost.debounce_ms,
    0,
    vim.schedule_wrap(function()
      if vim.deep_equal(now, M.now()) and when.may_show(false) then
        M._request(AUTOMATIC)
      end
    end)
  )
end

--- Requests a completion at the cursor for `display`. `show(suggestion or nil)` is called if buffer, text and cursor have
--- not changed. Returns a function that cancels.
function M.request(display, server, kind, show)
  local requested = M.now()
  local params = vim.tbl_extend('error', compat.position_params(server.offset_encoding), {
    context = { triggerKind = kind },
    formattingOptions = { tabSize = vim.fn.shiftwidth(), insertSpaces = vim.bo.expandtab },
  })
  return client.request('textDocument/inlineCompletion', params, function(err, result)
    if err then
      log.add(2, 'Inline completion: ' .. tostring(err.message))
      -- Automatic requests show no errors: there would be one for each key.
      return kind == INVOKED and notice.warn(tostring(err.message))
    end
    if not vim.deep_equal(requested, M.now()) or not when.may_show(kind == INVOKED) then
      return
    end
    local item = type(result) == 'table' and (result.items or result)[1]
    local row, col, line = M.cursor()
    local suggestion = item and suggestions.from_item(item, server.offset_encoding, row, col, line) or nil
    local known, rest = display.visible()
    -- An answer that equals the displayed rest is the same suggestion, also in the statistics.
    if suggestion and known and rest == suggestion.text then
      suggestion = suggestions.rebased(known, rest, row, col, line)
    end
    if suggestion and kind == INVOKED then
      suggestion.chosen = true
    end
    show(suggestion)
    if suggestion and suggestion.id ~= reported_id then
      reported_id = suggestion.id
      client.notify('weft/didShow', { id = suggestion.id })
    end
  end, 0)
end

--- The 0-based row, the 0-based byte column, and the text of the cursor's line.
function M.cursor()
  local at = vim.api.nvim_win_get_cursor(0)
  return at[1] - 1, at[2], vim.api.nvim_get_current_line()
end

--- Buffer, text version and cursor, which an answer must match.
function M.now()
  local bufnr = vim.api.nvim_get_current_buf()
  return { bufnr, vim.api.nvim_buf_get_changedtick(bufnr), vim.api.nvim_win_get_cursor(0) }
end

function M._request(kind, on_empty)
  local server = client.get(0)
  if not server then
    return
  end
  cancel = M.request(M, server, kind, function(suggestion)
    cancel = nil
    if suggestion then
      M._draw(suggestion)
    else
      M.dismiss()
      if on_empty then
        on_empty()
      end
    end
  end)
end

function M._draw(suggestion, hint)
  local bufnr = vim.api.nvim_get_current_buf()
  local row, col, line = M.cursor()
  draw.show(bufnr, row, col, suggestions.rest(suggestion, row, col, line), suggestion.n_replaced, hint)
  shown = { bufnr = bufnr, suggestion = suggestion, hint = hint }
  seen = M.now()
end

return M
