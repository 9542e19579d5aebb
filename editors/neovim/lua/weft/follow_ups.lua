-- `:Weft follow-ups`: all next edits of all files in one window, to check, apply and refuse; and `:Weft why-edit`.
--
-- Owns the list and which of its edits are checked. Edits are grouped by what they follow from; uncertain ones come last
-- and are not checked.

local client = require('weft.client')
local compat = require('weft.compat')
local edits = require('weft.edits')
local next_edits = require('weft.next_edits')
local notice = require('weft.notice')
local pages = require('weft.pages')
local view = require('weft.edit_view')

local M = {}

local LIMIT = 500
local NAME = 'follow-ups'
local KEYS = 'x checks, a applies, d refuses, K explains, <CR> goes there, r looks again, q closes'
local UNCERTAIN = 'Perhaps: in a string, a comment or a document, or only the name is the same. '

-- The list: `bufnr` and `position` of the request, `edits`, `checked` by id, `rows` (edits by 1-based row).
local list = nil

--- Requests all follow-up edits of the current buffer's workspace, and lists them.
function M.open()
  local bufnr = vim.api.nvim_get_current_buf()
  local server = client.get(bufnr)
  if not server then
    return notice.warn(client.get() and 'Weft is not attached to this buffer. See :Weft status.' or client.why_not())
  end
  M._request({ bufnr = bufnr, position = compat.position_params(server.offset_encoding).position, checked = {} })
end

--- Explains the displayed edit, or the one on this line of the list, in a floating window.
function M.why()
  local edit = M._under_cursor() or next_edits.visible()
  if not edit then
    return notice.info('no next edit is displayed. :Weft follow-ups lists all.')
  end
  pages.float('why-edit', M._reasons(edit))
end

function M._request(asked)
  next_edits.request(asked.bufnr, asked.position, LIMIT, function(_, _, found)
    list = vim.tbl_extend('force', asked, { edits = found })
    if #found == 0 and vim.fn.bufnr('weft://' .. NAME) == -1 then
      return notice.info('no follow-up edits: what you changed makes nothing necessary elsewhere that Weft knows.')
    end
    for _, edit in ipairs(found) do
      list.checked[edit.id] = not edit.isMarked
    end
    M._show()
  end, notice.warn)
end

function M._refresh()
  if not list then
    return
  end
  if not vim.api.nvim_buf_is_loaded(list.bufnr) then
    return notice.warn('the file that the list was made for is closed. Run :Weft follow-ups in another one.')
  end
  M._request({ bufnr = list.bufnr, position = list.position, checked = {} })
end

function M._show()
  local page
  page, list.rows = M._page()
  local cursor = vim.api.nvim_get_current_buf() == vim.fn.bufnr('weft://' .. NAME) and vim.api.nvim_win_get_cursor(0)
  local bufnr = pages.open(NAME, page, M._refresh)
  if cursor then
    local row = math.min(cursor[1], vim.api.nvim_buf_line_count(bufnr))
    return vim.api.nvim_win_set_cursor(0, { row, cursor[2] })
  end
  for row = 1, #page do
    if list.rows[row] then
      vim.api.nvim_win_set_cursor(0, { row, 0 })
      break
    end
  end
  local function map(modes, keys, fn, description)
    vim.keymap.set(modes, keys, fn, { buffer = bufnr, nowait = true, desc = 'Weft: ' .. description })
  end
  map({ 'n', 'x' }, 'x', M._check, 'check or uncheck')
  map('n', 'a', M._apply, 'apply the checked edits')
  map({ 'n', 'x' }, 'd', M._refuse, 'refuse: not offered again in this session')
  map('n', 'K', M.why, 'explain the edit')
end

--- The page, and the edit of each of its rows.
function M._page()
  local page, rows = {}, {}
  local function add(entry, edit)
    table.insert(page, entry)
    rows[#page] = edit
  end
  if #list.edits == 0 then
    return { { text = 'No follow-up edits are left. r looks again, q closes.' } }, rows
  end
  add({ text = KEYS, spans = { { 0, #KEYS, 'WeftNextEditHint' } } })
  local server = client.get()
  for _, group in ipairs(M._groups(list.edits)) do
    add({ text = '' })
    add({ text = group.title, spans = { { 0, #group.title, 'Title' } } })
    for _, edit in ipairs(group.edits) do
      local lines = edits.lines(edit)
      local change = server and lines and edits.change(edit, lines, server.offset_encoding)
      for _, entry in ipairs(M._entries(edit, change or nil)) do
        add(entry, edit)
      end
    end
  end
  return page, rows
end

--- Edits with one reason each, in the order of the answer; uncertain ones last.
function M._groups(all)
  local groups, by_title = {}, {}
  for _, is_marked in ipairs({ false, true }) do
    for _, edit in ipairs(all) do
      if edit.isMarked == is_marked then
        local title = (is_marked and UNCERTAIN or '') .. edit.reason
        if not by_title[title] then
          by_title[title] = { title = title, edits = {} }
          table.insert(groups, by_title[title])
        end
        table.insert(by_title[title].edits, edit)
      end
    end
  end
  return groups
end

--- The rows of an edit: its place with a checkbox, its old lines and its new ones.
function M._entries(edit, change)
  local box = list.checked[edit.id] and '  [x] ' or '  [ ] '
  local place = edit.path .. ':' .. edit.range.start.line + 1
  local head = { text = box .. place, uri = edit.textDocument.uri, range = edit.range }
  head.link = { #box, #head.text }
  if not change then
    head.text = head.text .. '  the text has changed'
    return { head }
  end
  return vim.list_extend({ head }, M._diff(change, '      '))
end

--- The old and the new lines of a change, without their common indentation; what differs is highlighted.
function M._diff(change, indent)
  local width
  for _, line in ipairs(vim.list_extend(vim.list_extend({}, change.removed), change.added)) do
    if line:find('%S') then
      width = math.min(width or 1e9, #line:match('^%s*'))
    end
  end
  width = width or 0
  local entries = {}
  local function add(lines, sign, group, stop)
    for _, line in ipairs(lines) do
      local head = indent .. sign .. ' '
      local text = head .. line:sub(width + 1)
      local span = { #head, #text, group }
      if change.inline then
        span = { #head + change.inline.start - width, #head + stop - width, group }
      end
      table.insert(entries, { text = text, spans = { { #indent, #indent + 1, group }, span } })
    end
  end
  add(change.removed, '-', 'WeftNextEditDelete', change.inline and change.inline.stop)
  add(change.added, '+', 'WeftNextEditAdd', change.inline and change.inline.start + #change.inline.text)
  return entries
end

--- Why an edit is offered: the edit that it follows from, how its place was found, the confidence, and what it changes.
function M._reasons(edit)
  local page = { { text = edit.reason } }
  if type(edit.evidence) == 'string' and edit.evidence ~= '' then
    table.insert(page, { text = edit.evidence })
  end
  table.insert(page, { text = string.format('Confidence: %d %%.', math.floor(edit.confidence * 100 + 0.5)) })
  if edit.isMarked then
    table.insert(page, { text = vim.trim(UNCERTAIN) })
  end
  local origin = edit.origin
  if type(origin) == 'table' then
    local at = { line = origin.line, character = 0 }
    local place = origin.path .. ':' .. origin.line + 1
    table.insert(page, { text = '' })
    table.insert(page, { text = place .. ' was edited:', uri = origin.uri, range = { start = at, ['end'] = at } })
    page[#page].link = { 0, #place }
    local before, after = M._text_lines(origin.before), M._text_lines(origin.after)
    vim.list_extend(page, M._diff({ removed = before, added = after }, '  '))
  end
  local server, lines = client.get(), edits.lines(edit)
  local change = server and lines and edits.change(edit, lines, server.offset_encoding)
  if change then
    local place = edit.path .. ':' .. edit.range.start.line + 1
    table.insert(page, { text = '' })
    table.insert(page, { text = place .. ' becomes:', uri = edit.textDocument.uri, range = edit.range })
    page[#page].link = { 0, #place }
    vim.list_extend(page, M._diff(change, '  '))
  end
  return page
end

function M._text_lines(text)
  return text == '' and {} or vim.split(text, '\n', { plain = true })
end

function M._under_cursor()
  if list and list.rows and vim.api.nvim_get_current_buf() == vim.fn.bufnr('weft://' .. NAME) then
    return list.rows[vim.api.nvim_win_get_cursor(0)[1]]
  end
end

--- The edits of the selected lines, or of the cursor's line.
function M._selected()
  local first, last = vim.fn.line('.'), vim.fn.line('.')
  if vim.api.nvim_get_mode().mode:lower() == 'v' then
    first, last = math.min(first, vim.fn.line('v')), math.max(last, vim.fn.line('v'))
    vim.cmd('normal! \27')
  end
  local found, seen = {}, {}
  for row = first, last do
    local edit = list.rows[row]
    if edit and not seen[edit.id] then
      seen[edit.id] = true
      table.insert(found, edit)
    end
  end
  return found
end

function M._check()
  for _, edit in ipairs(M._selected()) do
    list.checked[edit.id] = not list.checked[edit.id]
  end
  M._show()
end

function M._refuse()
  local refused = {}
  for _, edit in ipairs(M._selected()) do
    next_edits.tell_refused(edit)
    refused[edit.id] = true
  end
  list.edits = vim.tbl_filter(function(edit)
    return not refused[edit.id]
  end, list.edits)
  M._show()
end

--- Applies the checked edits, with one undo step for each file.
function M._apply()
  local chosen = vim.tbl_filter(function(edit)
    return list.checked[edit.id]
  end, list.edits)
  if #chosen == 0 then
    return notice.info('no edit is checked. x checks the one on this line.')
  end
  local applied = next_edits.apply(chosen)
  local files, n_files = {}, 0
  for _, edit in ipairs(applied) do
    n_files = n_files + (files[edit.path] and 0 or 1)
    files[edit.path] = true
  end
  if #applied > 0 then
    local what = '%d edit%s in %d file%s made. Undo with u in each file; :wall saves all.'
    notice.info(string.format(what, #applied, #applied > 1 and 's' or '', n_files, n_files > 1 and 's' or ''))
  end
  M._refresh()
end

return M
