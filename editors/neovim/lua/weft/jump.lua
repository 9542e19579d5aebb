-- Places named in a text that lead to lines of files: shown as links, followed with gf, listed in the quickfix window.
--
-- Owns the links of Weft's buffers and how one is followed. Guesses nothing: a link is { uri, range, text } as the
-- server gave it, and the text says what is there.

local client = require('weft.client')
local compat = require('weft.compat')
local notice = require('weft.notice')
local window = require('weft.window')

local M = {}

local MARKS = vim.api.nvim_create_namespace('weft.links')
local ARRIVED = vim.api.nvim_create_namespace('weft.arrived')

-- By buffer, then by the number of the mark.
local links = {}

--- Gives a buffer its keys: gf and <C-w>f follow a link, ]] and [[ go to the next and the one before, Q lists them.
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
  map('gf', M.follow, 'open the place')
  map('<C-w>f', function()
    M.follow('split')
  end, 'open the place in a new window')
  map(']]', M.next, 'next place')
  map('[[', M.previous, 'previous place')
  map('Q', M.list, 'places to the quickfix list')
end

--- Makes a link of the bytes from `first` to before `last` in a row from 0.
function M.add(bufnr, row, first, last, link)
  local mark = vim.api.nvim_buf_set_extmark(bufnr, MARKS, row, first, {
    end_col = last,
    hl_group = 'WeftPlace',
  })
  links[bufnr][mark] = link
end

--- Unlinks the rows from `first` to before `last`.
function M.clear(bufnr, first, last)
  for _, mark in ipairs(M._marks(bufnr)) do
    if mark.row >= first and (last == -1 or mark.row < last) then
      vim.api.nvim_buf_del_extmark(bufnr, MARKS, mark.id)
      links[bufnr][mark.id] = nil
    end
  end
end

--- The link under the cursor, else the first of its line; nil where there is none.
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

--- Opens the place under the cursor; `how` may be 'split'. True when there was one.
function M.follow(how)
  local link = M.under_cursor()
  if link then
    M.open(link, how)
  else
    notice.info('there is no place on this line. ]] goes to the next one.')
  end
  return link ~= nil
end

--- Shows the lines of a link in the window where files are edited, with the cursor on the first of them.
function M.open(link, how)
  if not link.uri:match('^file:') then
    return notice.warn('only files are opened, and this place is ' .. link.uri .. '.')
  end
  local bufnr = vim.uri_to_bufnr(link.uri)
  if not vim.api.nvim_buf_is_loaded(bufnr) and not compat.uv.fs_stat(vim.uri_to_fname(link.uri)) then
    return notice.warn(vim.uri_to_fname(link.uri) .. ' is not there any more. Ask again to see where it went.')
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
  -- Of a file with a swap file Neovim asks the person, whose answer may be no.
  local ok, problem = pcall(vim.cmd, 'hide buffer ' .. bufnr)
  if not ok then
    return notice.warn(problem)
  end
  M._select(bufnr, link)
end

--- To the next link below the cursor, and from the last to the first.
function M.next()
  return M._step(1)
end

--- To the next link above the cursor, and from the first to the last.
function M.previous()
  return M._step(-1)
end

--- Shows all links of the current buffer in the quickfix window.
function M.list()
  local found = vim.tbl_map(function(mark)
    return mark.link
  end, M._marks(0))
  M.to_quickfix(vim.fn.fnamemodify(vim.api.nvim_buf_get_name(0), ':t'), found)
end

--- Shows links in the quickfix window.
function M.to_quickfix(title, found)
  if #found == 0 then
    return notice.info('no place is named here.')
  end
  local items = vim.tbl_map(function(link)
    -- Columns are those of a text that may not be loaded, and lines are enough to see what is meant.
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

--- The links of a buffer in the order of its text.
function M._marks(bufnr)
  local known = links[bufnr == 0 and vim.api.nvim_get_current_buf() or bufnr]
  local marks = {}
  for _, mark in ipairs(known and vim.api.nvim_buf_get_extmarks(bufnr, MARKS, 0, -1, { details = true }) or {}) do
    local id, row, first, details = unpack(mark)
    table.insert(marks, { id = id, row = row, first = first, last = details.end_col, link = known[id] })
  end
  return marks
end

--- The cursor to where the link begins, and its lines marked until the cursor goes on.
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
  -- The move to this place is still to be told when this runs.
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
