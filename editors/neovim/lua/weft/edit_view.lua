-- Draws a next edit at its place, and a hint at the end of the cursor's line.
--
-- Old text is struck. New text follows it in the line, or is in lines of its own below. Owns the namespaces. Knows no
-- server.

local compat = require('weft.compat')
local draw = require('weft.draw')

local M = {}

M.namespace = vim.api.nvim_create_namespace('weft.next_edit')
M.hints = vim.api.nvim_create_namespace('weft.next_edit.hint')

local ADD, DELETE, STRUCK, HINT = 'WeftNextEditAdd', 'WeftNextEditDelete', 'WeftNextEditStruck', 'WeftNextEditHint'

-- More new lines are named by their number.
local MAX_LINES = 12
-- A hint shorter than this is not worth its place.
local MIN_HINT_WIDTH = 20

--- Draws what an edit changes of a buffer (see `edits.change`).
function M.draw(bufnr, change)
  vim.api.nvim_set_hl(0, STRUCK, { strikethrough = true, cterm = { strikethrough = true }, default = true })
  if change.inline then
    return M._draw_inline(bufnr, change)
  end
  for n, line in ipairs(change.removed) do
    M._strike(bufnr, change.first + n - 1, line:find('%S') and #line:match('^%s*') or 0, #line, true)
  end
  local below = change.first + #change.removed - 1
  if #change.added > 0 then
    M._add_lines(bufnr, below, M._lines(change.added))
  end
end

--- Shows a text at the end of a row, cut to what fits in the current window.
function M.hint(bufnr, row, text)
  local line = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  local room = vim.api.nvim_win_get_width(0) - vim.fn.strdisplaywidth(line) - 8
  M.clear_hint(bufnr)
  vim.api.nvim_buf_set_extmark(bufnr, M.hints, row, #line, {
    virt_text = { { '  → ' .. M.cut(text, math.max(room, MIN_HINT_WIDTH)), HINT } },
    virt_text_pos = 'eol',
    hl_mode = 'combine',
  })
end

function M.clear(bufnr)
  if vim.api.nvim_buf_is_valid(bufnr) then
    vim.api.nvim_buf_clear_namespace(bufnr, M.namespace, 0, -1)
    M.clear_hint(bufnr)
  end
end

function M.clear_hint(bufnr)
  vim.api.nvim_buf_clear_namespace(bufnr, M.hints, 0, -1)
end

--- `text` in one line of at most `width` cells.
function M.cut(text, width)
  text = vim.trim(text:gsub('%s*\n%s*', ' '):gsub('\t', ' '))
  if vim.fn.strdisplaywidth(text) <= width then
    return text
  end
  local n = vim.fn.strchars(text)
  while n > 0 and vim.fn.strdisplaywidth(vim.fn.strcharpart(text, 0, n)) > width - 1 do
    n = n - 1
  end
  return vim.fn.strcharpart(text, 0, n) .. '…'
end

function M._draw_inline(bufnr, change)
  local row, inline = change.first, change.inline
  local line = change.removed[1] or vim.api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1]
  M._strike(bufnr, row, inline.start, inline.stop, false)
  if inline.text == '' then
    return
  end
  if compat.has_inline_text then
    local column = vim.fn.strdisplaywidth(line:sub(1, inline.stop))
    vim.api.nvim_buf_set_extmark(bufnr, M.namespace, row, inline.stop, {
      virt_text = { { draw.expand_tabs(inline.text, column), ADD } },
      virt_text_pos = 'inline',
    })
  else
    local head = draw.expand_tabs(line:sub(1, inline.start), 0)
    local text = draw.expand_tabs(inline.text, vim.fn.strdisplaywidth(head))
    local tail = draw.expand_tabs(line:sub(inline.stop + 1), vim.fn.strdisplaywidth(head .. text))
    M._add_lines(bufnr, row, { { { head, HINT }, { text, ADD }, { tail, HINT } } })
  end
end

--- Marks bytes of a row as old text. Two marks: the colours of a group and the line through the text.
function M._strike(bufnr, row, start, stop, to_end)
  for _, group in ipairs({ DELETE, STRUCK }) do
    if stop > start or to_end then
      vim.api.nvim_buf_set_extmark(bufnr, M.namespace, row, start, {
        end_row = to_end and stop == start and row + 1 or row,
        end_col = to_end and stop == start and 0 or stop,
        hl_group = group,
        strict = false,
      })
    end
  end
end

--- Virtual lines below a row; above the first row for -1.
function M._add_lines(bufnr, row, lines)
  local above = row < 0
  vim.api.nvim_buf_set_extmark(bufnr, M.namespace, math.max(row, 0), 0, {
    virt_lines = lines,
    virt_lines_above = above,
  })
  -- Neovim does not scroll to lines above the first one by itself.
  if above and bufnr == vim.api.nvim_get_current_buf() and vim.fn.line('w0') == 1 then
    vim.fn.winrestview({ topfill = #lines })
  end
end

function M._lines(added)
  local lines = {}
  for n, text in ipairs(added) do
    if n > MAX_LINES then
      table.insert(lines, { { string.format('… %d more lines', #added - MAX_LINES), HINT } })
      break
    end
    -- A virtual line needs at least one character to be drawn.
    table.insert(lines, { { text == '' and ' ' or draw.expand_tabs(text, 0), ADD } })
  end
  return lines
end

return M
