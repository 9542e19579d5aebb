-- Ghost text of our own: asked for while a person types, shown, followed, taken back.
--
-- Owns the one suggestion that is on the screen and the one request that is on its way. An answer is shown only
-- where it was asked for: same buffer, same text, same cursor. While a person types what is shown, the rest stays
-- without a gap, and the server confirms it. From 0.12 on `builtin.lua` does this unless told otherwise.

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

-- The suggestion on the screen: `bufnr`, `suggestion`, `hint`.
local shown = nil
-- The request on its way: ends it. And the wait for the next key.
local cancel = nil
local timer = nil
-- What `update` has dealt with, as `now` says it.
local seen = nil
-- The last suggestion that the server knows to be seen.
local told_id = nil

--- Follows what a person types, by autocommands in `group`.
function M.enable(group)
  local function on(events, fn)
    vim.api.nvim_create_autocmd(events, { group = group, callback = fn })
  end
  timer = timer or compat.uv.new_timer()
  on({ 'TextChangedI', 'CursorMovedI', 'TextChangedP' }, M.update)
  -- These come just before insert mode, or the menu's end.
  on({ 'InsertEnter', 'CompleteDone' }, function()
    vim.schedule(M.update)
  end)
  on({ 'InsertLeave', 'BufLeave', 'CmdlineEnter' }, M.clear)
end

--- The suggestion on the screen and what is left of it, or nil.
function M.visible()
  if not shown or shown.bufnr ~= vim.api.nvim_get_current_buf() then
    return nil
  end
  local rest = suggestions.rest(shown.suggestion, M.cursor())
  return rest and shown.suggestion, rest
end

--- Shows one of several suggestions, all of which fit here, and says which of how many.
function M.show(list, index)
  M._draw(list[index], #list > 1 and string.format(' (%d/%d)', index, #list) or nil)
end

--- Takes it off the screen; whatever was asked for is no longer wanted.
function M.clear()
  if shown then
    draw.clear(shown.bufnr)
    shown = nil
  end
  seen = nil
  M._forget_request()
end

--- Takes it off the screen until something is typed.
function M.dismiss()
  M.clear()
  seen = M.now()
end

--- Runs `take`, which edits the text; a little later where a mapping with `expr` forbids that now.
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

--- Asks by hand: at once, and also where Weft is switched off. `on_empty` is called when there is nothing to show.
function M.trigger(on_empty)
  if not when.may_show(true) or not client.get(0) then
    return false
  end
  M._forget_request()
  M._request(INVOKED, on_empty)
  return true
end

--- Looks at the text and the cursor as they are now.
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
    M._forget_request()
    M._draw(suggestion, shown.hint)
  else
    M.clear()
  end
  seen = now
  -- What a person asked for stays: unasked the server may say something else, or nothing.
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

--- Asks the server at the cursor for what `display` may show. `show(suggestion or nil)` is called if buffer, text and
--- cursor are then as they are now. Returns a function that cancels.
function M.request(display, server, kind, show)
  local asked = M.now()
  local params = vim.tbl_extend('error', compat.position_params(server.offset_encoding), {
    context = { triggerKind = kind },
    formattingOptions = { tabSize = vim.fn.shiftwidth(), insertSpaces = vim.bo.expandtab },
  })
  return client.request('textDocument/inlineCompletion', params, function(err, result)
    if err then
      log.add(2, 'Inline completion: ' .. tostring(err.message))
      -- Somebody who types is not told with every key.
      return kind == INVOKED and notice.warn(tostring(err.message))
    end
    if not vim.deep_equal(asked, M.now()) or not when.may_show(kind == INVOKED) then
      return
    end
    local item = type(result) == 'table' and (result.items or result)[1]
    local row, col, line = M.cursor()
    local suggestion = item and suggestions.from_item(item, server.offset_encoding, row, col, line) or nil
    local known, rest = display.visible()
    -- What says again what is shown is the same suggestion, also to whoever counts.
    if suggestion and known and rest == suggestion.text then
      suggestion = suggestions.rebased(known, rest, row, col, line)
    end
    if suggestion and kind == INVOKED then
      suggestion.chosen = true
    end
    show(suggestion)
    if suggestion and suggestion.id ~= told_id then
      told_id = suggestion.id
      client.notify('weft/didShow', { id = suggestion.id })
    end
  end, 0)
end

--- Row from 0, column in bytes from 0, and the text of the cursor's line.
function M.cursor()
  local at = vim.api.nvim_win_get_cursor(0)
  return at[1] - 1, at[2], vim.api.nvim_get_current_line()
end

--- Buffer, text and cursor: what an answer must still find.
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

function M._forget_request()
  if timer then
    timer:stop()
  end
  if cancel then
    cancel()
    cancel = nil
  end
end

return M
