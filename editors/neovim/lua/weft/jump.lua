-- Links to lines of files in the chat and in reports: highlighted, opened with gf, listed in the quickfix window.
--
-- Owns the links of Weft's buffers. A link is { uri, range, text } as the server sent it; no path is parsed from text. A link
-- of a page may instead be { run }, an action.

local client = require('weft.client')
local compat = require('weft.compat')
local notice = require('weft.notice')
local window = require('weft.window')

local M = {}

local MARKS = vim.api.nvim_create_namespace('weft.links')
local ARRIVED = vim.api.nvim_create_namespace('weft.arrived')

-- By buffer, then by extmark id.
local links = {}

--- Maps the keys of a buffer: gf and <C-w>f open a link, ]] and [[ go to the next and the previous one, Q lists them.
function M.attach(bufnr)
  vim.api.nvim_set_hl(0, 'WeftPlace', { default = true, link = 'Underlined' })
  links[bufnr] = {}
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = bufnr,
    callback = function()
      links[bufnr] = nil
    end,
  })
  local function map(keys, fn, description)
    vim.keymap.set('n', keys, fn, { buffer = bufnr, desc = 'Weft: ' .. description })
  end
  map('gf', M.follow, 'open the location')
  map('<C-w>f', function()
    M.follow('split')
  end, 'open the location in a new window')
  map(']]', M.next, 'next link')
  map('[[', M.previous, 'previous link')
  map('Q', M.list, 'list the links in the quickfix window')
end

--- Adds a link for the bytes [first, last) of a 0-based row.
function M.add(bufnr, row, first, last, link)
  local mark = vim.api.nvim_buf_set_extmark(bufnr, MARKS, row, first, {
    end_col = last,
    hl_group = 'WeftPlace',
  })
  links[bufnr][mark] = link
end

--- Removes the links of the rows [first, last).
function M.clear(bufnr, first, last)
  for _, mark in ipairs(M._marks(bufnr)) do
    if mark.row >= first and (last == -1 or mark.row < last) then
      vim.api.nvim_buf_del_extmark(bufnr, MARKS, mark.id)
      links[bufnr][mark.id] = nil
    end
  end
end

--- The link under the cursor, else the first one of the line, or nil.
function M.under_cursor()
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local first
  for _, mark in ipairs(M._marks(0)) do
    if mark.row == row - 1 then
      if mark.first <= column and column < mark.last then
        return mark.link
      end
      first = first or mark.link
    end
  end
  return first
end

--- Opens the link under the cursor; `how` may be 'split'. True when there was one.
function M.follow(how)
  local link = M.under_cursor()
  if link and link.run then
    link.run()
  elseif link then
    M.open(link, how)
  else
    notice.info('no link on this line. ]] goes to the next one.')
  end
  return link ~= nil
end

--- Opens the lines of a link in a file window, with the cursor on the first line.
function M.open(link, how)
  local bufnr = M.open_file(link.uri, how)
  if bufnr then
    M._select(bufnr, link)
  end
end

--- Opens the file of a URI in a file window. Returns its buffer, or nil after a warning.
function M.open_file(uri, how)
  if not uri:match('^file:') then
    return notice.warn('only files can be opened, not ' .. uri .. '.')
  end
  local bufnr = vim.uri_to_bufnr(uri)
  if not vim.api.nvim_buf_is_loaded(bufnr) and not compat.uv.fs_stat(vim.uri_to_fname(uri)) then
    return notice.warn(vim.uri_to_fname(uri) .. ' does not exist any more. Ask again for its new location.')
  end
  local target = window.normal()
  window.leave_float()
  if target and how ~= 'split' then
    vim.api.nvim_set_current_win(target)
  elseif target then
    vim.api.nvim_set_current_win(target)
    vim.cmd('split')
  else
    vim.cmd('aboveleft split')
  end
  vim.cmd("normal! m'")
  vim.bo[bufnr].buflisted = true
  -- Fails when the user aborts the dialog about a swap file.
  local ok, problem = pcall(vim.cmd, 'hide buffer ' .. bufnr)
  if not ok then
    return notice.warn(problem)
  end
  return bufnr
end

--- Moves to the next link; wraps around.
function M.next()
  return M._step(1)
end

--- Moves to the previous link; wraps around.
function M.previous()
  return M._step(-1)
end

--- Lists all links of the current buffer to lines in the quickfix window.
function M.list()
  local found = {}
  for _, mark in ipairs(M._marks(0)) do
    if mark.link.uri then
      table.insert(found, mark.link)
    end
  end
  M.to_quickfix(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ':t'), found)
end

--- Lists links in the quickfix window.
function M.to_quickfix(title, found)
  if #found == 0 then
    return notice.info('no links here.')
  end
  local items = vim.tbl_map(function(link)
    -- Without columns: converting them needs the text, which may not be loaded.
    return {
      filename = vim.uri_to_fname(link.uri),
      lnum = link.range.start.line + 1,
      end_lnum = link.range['end'].line + 1,
      text = link.text or '',
    }
  end, found)
  vim.fn.setqflist({}, ' ', { title = 'Weft: ' .. title, items = items })
  vim.cmd('botright copen')
end

function M._step(direction)
  local row, column = unpack(vim.api.nvim_win_get_cursor(0))
  local marks = M._marks(0)
  local first, last, step = 1, #marks, 1
  if direction < 0 then
    first, last, step = #marks, 1, -1
  end
  local target = marks[first]
  for n = first, last, step do
    local mark = marks[n]
    local distance = mark.row ~= row - 1 and mark.row - (row - 1) or mark.first - column
    if distance * direction > 0 then
      target = mark
      break
    end
  end
  if target then
    vim.api.nvim_win_set_cursor(0, { target.row + 1, target.first })
  end
  return target ~= nil
end

--- The links of a buffer in text order.
function M._marks(bufnr)
  local known = links[bufnr == 0 and vim.api.nvim_get_current_buf() or bufnr]
  local marks = {}
  for _, mark in ipairs(known and vim.api.nvim_buf_get_extmarks(bufnr, MARKS, 0, -1, { details = true }) or {}) do
    local id, row, first, details = unpack(mark)
    table.insert(marks, { id = id, row = row, first = first, last = details.end_col, link = known[id] })
  end
  return marks
end

--- Moves the cursor to the start of the link, and highlights its lines until the cursor moves.
function M._select(bufnr, link)
  local n_lines = vim.api.nvim_buf_line_count(bufnr)
  local first = math.min(link.range.start.line, n_lines - 1)
  local last = math.min(link.range['end'].line, n_lines - 1)
  local line = vim.api.nvim_buf_get_lines(bufnr, first, first + 1, false)[1]
  local server = client.get()
  local encoding = server and server.offset_encoding or 'utf-16'
  vim.api.nvim_win_set_cursor(0, { first + 1, compat.byte_of(line, link.range.start.character, encoding) })
  vim.cmd('normal! zvzz')
  for row = first, last do
    vim.api.nvim_buf_set_extmark(bufnr, ARRIVED, row, 0, {
      end_row = row + 1,
      hl_group = 'Visual',
      hl_eol = true,
      strict = false,
    })
  end
  -- Scheduled, because the CursorMoved of this jump is still pending.
  vim.schedule(function()
    vim.api.nvim_create_autocmd({ 'CursorMoved', 'InsertEnter', 'BufLeave' }, {
      buffer = bufnr,
      once = true,
      callback = function()
        vim.api.nvim_buf_clear_namespace(bufnr, ARRIVED, 0, -1)
      end,
    })
  end)
end

return M
