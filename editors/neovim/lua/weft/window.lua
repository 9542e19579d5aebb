-- Windows for the chat and reports, and the choice of a window for files.

local M = {}

--- The unlisted scratch buffer of this name, and whether it is new. Callers set its filetype after its mappings, so that
--- autocommands of the user run last.
function M.scratch(name)
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(bufnr) == name then
      if vim.api.nvim_buf_is_loaded(bufnr) then
        return bufnr, false
      end
      -- Unloaded by `:bdelete`.
      vim.api.nvim_buf_delete(bufnr, { force = true })
    end
  end
  local bufnr = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(bufnr, name)
  return bufnr, true
end

--- Goes to a window of the buffer, or opens one; `where` is { window =, size = }.
function M.show(bufnr, where)
  local shown = vim.fn.win_findbuf(bufnr)
  for _, window in ipairs(shown) do
    if vim.api.nvim_win_get_tabpage(window) == vim.api.nvim_get_current_tabpage() or where.window == 'tab' then
      vim.api.nvim_set_current_win(window)
      return
    end
  end
  if where.window == 'float' then
    M._float(bufnr, where.size)
  elseif where.window == 'tab' then
    vim.cmd('tab sbuffer ' .. bufnr)
  elseif where.window == 'split' then
    -- At least half of the screen stays for the file.
    local height = math.min(where.size, math.floor(vim.o.lines / 2))
    vim.cmd('botright ' .. height .. 'split | buffer ' .. bufnr)
  else
    local width = math.min(where.size, math.floor(vim.o.columns / 2))
    vim.cmd('botright ' .. width .. 'vsplit | buffer ' .. bufnr)
  end
  M._set_options()
end

--- Opens the buffer in a floating window at the cursor, as large as its text. Leaving the window closes it.
function M.float_at_cursor(bufnr)
  local width, height = 1, 0
  local most = math.min(100, vim.o.columns - 4)
  for _, line in ipairs(vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)) do
    local cells = vim.fn.strdisplaywidth(line)
    width = math.min(math.max(width, cells), most)
    height = height + math.max(math.ceil(cells / most), 1)
  end
  local is_low = vim.fn.winline() > vim.fn.winheight(0) / 2
  local window = vim.api.nvim_open_win(bufnr, true, {
    relative = 'cursor',
    anchor = is_low and 'SW' or 'NW',
    row = is_low and 0 or 1,
    col = 0,
    width = width,
    height = math.min(height, math.floor(vim.o.lines / 2)),
    border = 'rounded',
  })
  M._set_options()
  vim.api.nvim_create_autocmd('WinLeave', {
    buffer = bufnr,
    once = true,
    callback = function()
      -- A window cannot be closed while it is left.
      vim.schedule(function()
        if vim.api.nvim_win_is_valid(window) then
          vim.api.nvim_win_close(window, true)
        end
      end)
    end,
  })
end

--- Closes the current window; the last window shows an empty buffer instead.
function M.close()
  if not pcall(vim.cmd, 'close') then
    vim.cmd('enew')
  end
end

--- Closes the current window if it is floating.
function M.leave_float()
  if vim.api.nvim_win_get_config(0).relative ~= '' then
    vim.cmd('close')
  end
end

--- The last window with a file, in this or the previous tab page; nil when there is none.
function M.normal()
  local seen = { vim.api.nvim_get_current_win(), vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(seen, vim.api.nvim_tabpage_list_wins(0))
  local tab_before = vim.fn.tabpagenr('#')
  if tab_before > 0 then
    table.insert(seen, vim.fn.win_getid(vim.fn.tabpagewinnr(tab_before), tab_before))
  end
  for _, window in ipairs(seen) do
    if window ~= 0 and M._takes_files(window) then
      return window
    end
  end
end

function M._set_options()
  vim.opt_local.wrap = true
  vim.opt_local.linebreak = true
  vim.opt_local.number = false
  vim.opt_local.relativenumber = false
  vim.opt_local.signcolumn = 'no'
  vim.opt_local.spell = false
end

function M._takes_files(window)
  local is_float = vim.api.nvim_win_get_config(window).relative ~= ''
  local is_fixed = vim.fn.exists('+winfixbuf') == 1 and vim.wo[window].winfixbuf
  local bufnr = vim.api.nvim_win_get_buf(window)
  return vim.bo[bufnr].buftype == '' and not is_float and not is_fixed and not vim.wo[window].previewwindow
end

function M._float(bufnr, size)
  local width = math.min(size, vim.o.columns - 4)
  local height = math.floor(vim.o.lines * 0.8)
  vim.api.nvim_open_win(bufnr, true, {
    relative = 'editor',
    width = width,
    height = height,
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.floor((vim.o.columns - width) / 2),
    border = 'rounded',
  })
end

return M
