-- Next edits: what the edits of this session make necessary elsewhere, shown one at a time.
--
-- Owns the last answer of the server, the displayed edit and the request in flight. An answer is shown only for the
-- version of the text that it was requested for, and an edit is made only where its old text still is. `edit_view.lua`
-- draws, `edits.lua` applies, `follow_ups.lua` lists all edits.

local client = require('weft.client')
local compat = require('weft.compat')
local config = require('weft.config')
local edits = require('weft.edits')
local jump = require('weft.jump')
local log = require('weft.log')
local notice = require('weft.notice')
local view = require('weft.edit_view')
local when = require('weft.when')

local M = {}

-- Several events follow one change, so that a request waits a little.
local SETTLED_AFTER_MS = 50
-- The most edits of an answer while editing; the list of follow-ups requests all.
local LIMIT = 20

-- The displayed edit: `bufnr` (of the display), `edit`, `change` (nil in another file), `version`.
local shown = nil
-- The last answer: `bufnr`, `version`, `edits` that are not refused.
local answer = { edits = {} }
-- Cancels the request in flight; the timer before one.
local cancel = nil
local timer = nil
-- What was reported as shown last.
local reported = nil

--- Creates the autocommands in `group`.
function M.enable(group)
  local function on(events, fn)
    vim.api.nvim_create_autocmd(events, { group = group, callback = fn })
  end
  if not timer then
    timer = compat.uv.new_timer()
    client.on('ended', M.clear)
    client.on('attach', function(_, bufnr)
      if bufnr == vim.api.nvim_get_current_buf() then
        M.update(SETTLED_AFTER_MS)
      end
    end)
  end
  M.clear()
  on({ 'InsertLeave', 'TextChanged', 'BufEnter' }, function()
    M.update(SETTLED_AFTER_MS)
  end)
  on({ 'InsertEnter', 'BufLeave' }, M.clear)
  on({ 'TextChangedI', 'TextChangedP' }, function()
    M.clear()
    if config.options.next_edits.idle_ms > 0 then
      M.update(config.options.next_edits.idle_ms)
    end
  end)
  on({ 'CursorMoved', 'CursorMovedI', 'WinScrolled' }, M.redraw)
end

--- Hides what is shown, and requests the next edits after a delay.
function M.update(delay_ms)
  if shown and not M.visible() then
    M._hide()
  end
  M._cancel()
  if config.options.next_edits.show == 'off' or not M._may_show() then
    return M._hide()
  end
  timer:start(
    delay_ms,
    0,
    vim.schedule_wrap(function()
      if M._may_show() then
        M._request(M._take_answer)
      end
    end)
  )
end

--- The displayed edit, or nil when its old text is not there any more.
function M.visible()
  if not shown or shown.bufnr ~= vim.api.nvim_get_current_buf() then
    return nil
  end
  if not vim.api.nvim_buf_is_valid(shown.bufnr) or shown.version ~= compat.lsp_version(shown.bufnr) then
    return nil
  end
  return shown.edit
end

--- The number of edits of the last answer; the second result is true when there may be more.
function M.count()
  return #answer.edits, #answer.edits >= LIMIT
end

--- Goes to the displayed edit, or makes it when the cursor is there. False when none is displayed.
function M.next()
  if not M.visible() then
    return false
  end
  -- An `expr` mapping may neither move the cursor nor edit.
  vim.schedule(M._go_or_take)
  return true
end

--- As `next`; requests an edit where none is displayed.
function M.next_or_ask()
  if M.next() then
    return
  end
  M._request(function(bufnr, version, found)
    M._take_answer(bufnr, version, found)
    if not M.visible() then
      notice.info('no next edit. :Weft follow-ups lists the uncertain ones.')
    end
  end, notice.warn)
end

--- Refuses the displayed edit: it is not offered again in this session. False when none is displayed.
function M.refuse()
  local edit = M.visible()
  if not edit then
    return false
  end
  M.tell_refused(edit)
  vim.schedule(function()
    M._show_first()
    M.update(SETTLED_AFTER_MS)
  end)
  return true
end

--- Tells the server that an edit is refused.
function M.tell_refused(edit)
  client.notify('weft/didRefuseNextEdit', { id = edit.id })
  answer.edits = vim.tbl_filter(function(other)
    return other.id ~= edit.id
  end, answer.edits)
end

--- Applies edits and tells the server; a warning says what was left out and why. Returns the applied edits.
function M.apply(chosen)
  local server = client.get()
  if not server then
    notice.warn(client.why_not())
    return {}
  end
  M._hide()
  local applied, left = edits.apply(chosen, server.offset_encoding)
  if #applied > 0 then
    local ids = vim.tbl_map(function(edit)
      return { id = edit.id }
    end, applied)
    local call = { command = applied[1].command.command, arguments = ids }
    client.request('workspace/executeCommand', call, function() end)
  end
  if #left > 0 then
    local at = left[1].edit.path .. ':' .. left[1].edit.range.start.line + 1
    notice.warn(string.format('%d of %d edits not made: %s (%s).', #left, #chosen, left[1].reason, at))
  end
  return applied
end

--- Requests up to `limit` edits for a buffer with its cursor at `position`. `fn(bufnr, version, edits)` is not called when
--- the text has changed meanwhile. `on_error(message)` is optional. Returns a function that cancels, or nil.
function M.request(bufnr, position, limit, fn, on_error)
  local server = client.get(bufnr)
  if not server then
    if on_error then
      on_error(client.get() and 'Weft is not attached to this buffer. See :Weft status.' or client.why_not())
    end
    return nil
  end
  local version = compat.lsp_version(bufnr)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(bufnr), version = version },
    position = position,
    limit = limit,
  }
  return client.request('weft/nextEdit', params, function(err, result)
    if err then
      log.add(2, 'Next edit: ' .. tostring(err.message))
      if on_error then
        on_error(tostring(err.message))
      end
      return
    end
    local is_stale = not vim.api.nvim_buf_is_valid(bufnr) or version ~= compat.lsp_version(bufnr)
    if is_stale or type(result) ~= 'table' or result.version ~= version then
      return
    end
    fn(bufnr, version, result.edits)
  end, bufnr)
end

--- Hides the edit and cancels the request.
function M.clear()
  M._cancel()
  M._hide()
  answer = { edits = {} }
end

--- Draws the hint anew: the cursor or the window has moved.
function M.redraw()
  if shown and shown.bufnr == vim.api.nvim_get_current_buf() then
    if M.visible() then
      M._draw_hint()
    else
      M._hide()
    end
  end
end

function M._may_show()
  local bufnr, mode = vim.api.nvim_get_current_buf(), vim.api.nvim_get_mode().mode
  local options = config.options.next_edits
  local is_editing = mode == 'n' or (mode:sub(1, 1) == 'i' and options.idle_ms > 0)
  if not is_editing or vim.bo[bufnr].buftype ~= '' or not vim.bo[bufnr].modifiable or when.is_macro() then
    return false
  end
  if type(options.enabled) == 'function' then
    return when.call(options.enabled, 'next_edits.enabled', bufnr)
  end
  return options.enabled
end

function M._request(fn, on_error)
  M._cancel()
  local bufnr = vim.api.nvim_get_current_buf()
  local server = client.get(bufnr)
  local position = server and compat.position_params(server.offset_encoding).position
  cancel = M.request(bufnr, position, LIMIT, function(...)
    cancel = nil
    if bufnr == vim.api.nvim_get_current_buf() then
      fn(...)
    end
  end, on_error)
end

function M._take_answer(bufnr, version, found)
  answer = {
    bufnr = bufnr,
    version = version,
    edits = vim.tbl_filter(function(edit)
      return not edit.isMarked
    end, found),
  }
  M._show_first()
end

--- Shows the first edit of the buffer; else names the first one of another file.
function M._show_first()
  M._hide()
  local bufnr = vim.api.nvim_get_current_buf()
  local server = client.get(bufnr)
  if not server or answer.bufnr ~= bufnr or answer.version ~= compat.lsp_version(bufnr) then
    return
  end
  local uri = vim.uri_from_bufnr(bufnr)
  local elsewhere
  for _, edit in ipairs(answer.edits) do
    if edit.textDocument.uri == uri then
      local change = edits.change(edit, edits.lines(edit), server.offset_encoding)
      if change then
        return M._show(bufnr, edit, change)
      end
    else
      elsewhere = elsewhere or edit
    end
  end
  if elsewhere then
    M._show(bufnr, elsewhere, nil)
  end
end

function M._show(bufnr, edit, change)
  shown = { bufnr = bufnr, edit = edit, change = change, version = compat.lsp_version(bufnr) }
  if M._is_drawn() then
    view.draw(bufnr, change)
  end
  M._draw_hint()
  M._report(edit)
  vim.cmd('redrawstatus')
end

--- Reports an edit as shown, once for each state of the text.
function M._report(edit)
  local this = { edit.textDocument.uri, edit.range, edit.text, shown.bufnr, shown.version }
  if not vim.deep_equal(this, reported) then
    reported = this
    client.notify('weft/didShowNextEdit', { id = edit.id })
  end
end

--- Draws the hint if the edit is not in sight.
function M._draw_hint()
  local row = shown.change and shown.change.row + 1
  if M._is_drawn() and vim.fn.line('w0') <= row and row <= vim.fn.line('w$') then
    view.clear_hint(shown.bufnr)
  else
    view.hint(shown.bufnr, vim.api.nvim_win_get_cursor(0)[1] - 1, M._where())
  end
end

--- Whether the edit is drawn at its place.
function M._is_drawn()
  return shown.change ~= nil and config.options.next_edits.show ~= 'quiet'
end

--- Where the displayed edit is from the cursor, and what it makes of its first line.
function M._where()
  local edit, change = shown.edit, shown.change
  local what = M.summary(edit, change)
  if not change then
    return string.format('%s:%d: %s', edit.path, edit.range.start.line + 1, what)
  end
  local distance = change.row + 1 - vim.api.nvim_win_get_cursor(0)[1]
  if distance == 0 then
    return 'here: ' .. what
  end
  local n = math.abs(distance)
  return string.format('%d line%s %s: %s', n, n > 1 and 's' or '', distance > 0 and 'below' or 'above', what)
end

--- An edit in a few words.
function M.summary(edit, change)
  if change and #change.added > 0 then
    return vim.trim(change.added[1])
  end
  if edit.text == '' then
    return 'remove ' .. edit.oldText
  end
  return edit.oldText == '' and edit.text or edit.oldText .. ' → ' .. edit.text
end

function M._hide()
  if shown then
    view.clear(shown.bufnr)
    shown = nil
    vim.cmd('redrawstatus')
  end
end

function M._cancel()
  if timer then
    timer:stop()
  end
  if cancel then
    cancel()
    cancel = nil
  end
end

function M._go_or_take()
  local edit = M.visible()
  if not edit then
    return
  end
  local change = shown.change
  if not change then
    return M._go_to_file(edit)
  end
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  if row >= change.row and row < change.row + math.max(#change.removed, 1) then
    return M._take(edit)
  end
  vim.cmd("mark '")
  M._go(change)
end

function M._go(change)
  local line = vim.api.nvim_buf_get_lines(0, change.row, change.row + 1, false)[1] or ''
  local column = change.inline and change.inline.start or #line:match('^%s*')
  vim.api.nvim_win_set_cursor(0, { change.row + 1, column })
  vim.cmd('silent! foldopen!')
  M.redraw()
end

--- Opens the file of an edit, and shows the edit there until the answer for that file comes.
function M._go_to_file(edit)
  local server = client.get()
  local bufnr = server and jump.open_file(edit.textDocument.uri)
  if not bufnr then
    return
  end
  local change = edits.change(edit, edits.lines(edit), server.offset_encoding)
  if not change then
    return notice.info('the text has changed there.')
  end
  M._show(bufnr, edit, change)
  M._go(change)
  vim.cmd('normal! zz')
end

--- Makes the displayed edit, and puts the cursor at the end of the new text.
function M._take(edit)
  local change = shown.change
  if #M.apply({ edit }) == 0 then
    return
  end
  local row = math.min(change.first + math.max(#change.added - 1, 0), vim.api.nvim_buf_line_count(0) - 1)
  local line = vim.api.nvim_buf_get_lines(0, row, row + 1, false)[1]
  local column = change.inline and change.inline.start + math.max(#change.inline.text - 1, 0) or #line:match('^%s*')
  vim.api.nvim_win_set_cursor(0, { row + 1, column })
  M.update(SETTLED_AFTER_MS)
end

return M
