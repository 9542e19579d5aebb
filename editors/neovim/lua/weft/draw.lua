-- Draws ghost text: one extmark per buffer.
--
-- Shows the buffer as it will be after acceptance: the text behind the cursor follows the last line, and replaced text is
-- hidden. Owns the namespace, and the highlight groups of the plugin.

local compat = require('weft.compat')
local config = require('weft.config')

local M = {}

M.namespace = vim.api.nvim_create_namespace('weft.ghost')

-- The highlight groups by their names in the option `highlights`.
local GROUPS = {
  ghost = 'WeftGhost',
  hint = 'WeftGhostHint',
  next_edit_add = 'WeftNextEditAdd',
  next_edit_delete = 'WeftNextEditDelete',
  next_edit_hint = 'WeftNextEditHint',
}
local MARK = 1

-- What makes a group differ from other text in a terminal without 'termguicolors'.
local SEEN_IN_TERMINALS = { 'fg', 'bg', 'bold', 'italic', 'underline', 'reverse' }

local function attribute(group, name, mode)
  return vim.fn.synIDattr(vim.fn.synIDtrans(vim.fn.hlID(group)), name, mode)
end

--- The attributes of `group` with a grey for terminals, or nil if terminals show it. Without 'termguicolors' the Comment
--- of Neovim's own scheme looks like code.
local function with_terminal_colour(group)
  for _, name in ipairs(SEEN_IN_TERMINALS) do
    if attribute(group, name, 'cterm') ~= '' then
      return nil
    end
  end
  local has_greys, colours = pcall(vim.fn.eval, '&t_Co')
  local grey = has_greys and (tonumber(colours) or 0) >= 256 and 244 or 8
  local foreground = attribute(group, 'fg', 'gui')
  return string.format('ctermfg=%d%s', grey, foreground ~= '' and ' guifg=' .. foreground or '')
end

--- Colour schemes clear the groups, so this runs again after each ColorScheme event.
function M.set_highlights()
  for name, group in pairs(GROUPS) do
    local like = config.options.highlights[name]
    local attributes = with_terminal_colour(like)
    if attributes then
      vim.cmd(string.format('highlight default %s %s', group, attributes))
    else
      vim.cmd(string.format('highlight default link %s %s', group, like))
    end
  end
end

--- Shows `text` at byte `col` of `row` in the current window, in place of `n_replaced` bytes behind the cursor.
function M.show(bufnr, row, col, text, n_replaced, hint)
  local line = vim.api.nvim_buf_get_lines(bufnr, row, row + 1, false)[1] or ''
  local after = line:sub(col + 1)
  local replaced, kept = after:sub(1, n_replaced), after:sub(n_replaced + 1)
  local lines = vim.split(text, '\n', { plain = true })
  local column = vim.fn.strdisplaywidth(line:sub(1, col))
  local mark = { id = MARK, hl_mode = 'combine', virt_text_pos = 'overlay' }
  local hints = hint and { { hint, GROUPS.hint } } or {}
  if #lines == 1 and compat.has_inline_text and vim.endswith(text, replaced) then
    -- Inline: the text of the line moves and keeps its highlighting.
    mark.virt_text_pos = 'inline'
    mark.virt_text = M._join({ { M.expand_tabs(text:sub(1, #text - #replaced), column), GROUPS.ghost } }, hints)
  elseif #lines == 1 then
    local first = M.expand_tabs(text, column)
    local rest = M.expand_tabs(kept, column + vim.fn.strdisplaywidth(first))
    mark.virt_text = M._cover({ { first, GROUPS.ghost }, { rest, 'Normal' } }, after, column, hints)
  else
    mark.virt_text = M._cover({ { M.expand_tabs(lines[1], column), GROUPS.ghost } }, after, column, {})
    mark.virt_lines = {}
    for i = 2, #lines do
      -- A virtual line needs at least one character to be drawn.
      local is_empty = lines[i] == '' and (i < #lines or kept == '')
      mark.virt_lines[i - 1] = { { is_empty and ' ' or M.expand_tabs(lines[i], 0), GROUPS.ghost } }
    end
    local last = mark.virt_lines[#mark.virt_lines]
    table.insert(last, { M.expand_tabs(kept, vim.fn.strdisplaywidth(last[1][1])), 'Normal' })
    vim.list_extend(last, hints)
  end
  vim.api.nvim_buf_set_extmark(bufnr, M.namespace, row, col, mark)
end

function M.clear(bufnr)
  if vim.api.nvim_buf_is_valid(bufnr) then
    vim.api.nvim_buf_clear_namespace(bufnr, M.namespace, 0, -1)
  end
end

--- Chunks that are at least as wide as the covered text.
function M._cover(chunks, covered, column, more)
  chunks = M._join(chunks, more)
  local width = 0
  for _, chunk in ipairs(chunks) do
    width = width + vim.fn.strdisplaywidth(chunk[1])
  end
  local missing = vim.fn.strdisplaywidth(covered, column) - width
  if missing > 0 then
    table.insert(chunks, { string.rep(' ', missing), 'Normal' })
  end
  return chunks
end

function M._join(chunks, more)
  local all = vim.list_extend({}, chunks)
  vim.list_extend(all, more)
  return vim.tbl_filter(function(chunk)
    return chunk[1] ~= ''
  end, all)
end

--- Expands the tabs of `text`, which starts at this column.
function M.expand_tabs(text, column)
  if not text:find('\t', 1, true) then
    return text
  end
  local tabstop, spaced = vim.bo.tabstop, ''
  for piece, tab in text:gmatch('([^\t]*)(\t?)') do
    spaced = spaced .. piece
    if tab ~= '' then
      spaced = spaced .. string.rep(' ', tabstop - (column + vim.fn.strdisplaywidth(spaced)) % tabstop)
    end
  end
  return spaced
end

return M
