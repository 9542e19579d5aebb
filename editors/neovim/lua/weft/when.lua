-- Whether ghost text is enabled and may be shown now.
--
-- Owns the toggles of this session: global, per filetype and per buffer; the narrowest scope wins. Knows no server.

local config = require('weft.config')
local notice = require('weft.notice')

local M = {}

local toggles = { everywhere = nil, filetypes = {}, buffers = {} }

--- Whether ghost text is enabled in this buffer.
function M.is_enabled(bufnr)
  local of_buffer, of_filetype = toggles.buffers[bufnr], toggles.filetypes[vim.bo[bufnr].filetype]
  if of_buffer ~= nil then
    return of_buffer
  end
  if of_filetype ~= nil then
    return of_filetype
  end
  if toggles.everywhere ~= nil then
    return toggles.everywhere
  end
  local enabled = config.options.enabled
  if type(enabled) == 'function' then
    return M.call(enabled, 'enabled', bufnr)
  end
  return enabled
end

--- Toggles `scope` ('global', 'filetype' or 'buffer'); returns a message with the new state.
function M.toggle(scope, bufnr)
  local filetype, on = vim.bo[bufnr].filetype, not M.is_enabled(bufnr)
  local where
  if scope == 'buffer' then
    toggles.buffers[bufnr], where = on, 'in this buffer'
  elseif scope == 'filetype' then
    toggles.buffers[bufnr], toggles.filetypes[filetype], where = nil, on, 'in ' .. filetype .. ' files'
  else
    -- Narrower toggles would override it.
    toggles, where = { everywhere = on, filetypes = {}, buffers = {} }, 'everywhere'
  end
  return string.format('ghost text is %s %s.', on and 'on' or 'off', where)
end

--- Whether ghost text may be shown in the current buffer now. `invoked`: explicitly, also where it is disabled.
function M.may_show(invoked)
  local bufnr, mode = vim.api.nvim_get_current_buf(), vim.api.nvim_get_mode().mode
  local options = config.options.ghost
  local typing = mode == 'i' or (options.popup_menu and mode:sub(1, 1) == 'i')
  if not typing or M.is_macro() or vim.bo[bufnr].buftype ~= '' or not vim.bo[bufnr].modifiable then
    return false
  end
  if vim.fn.pumvisible() == 1 and not options.popup_menu then
    return false
  end
  if options.when and not M.call(options.when, 'ghost.when', bufnr) then
    return false
  end
  return invoked or (options.auto and M.is_enabled(bufnr))
end

--- Whether a macro is recorded or executed: it must do the same each time, so nothing is shown.
function M.is_macro()
  return vim.fn.reg_recording() ~= '' or vim.fn.reg_executing() ~= ''
end

--- The result of a function of the user; true, with one warning, when it fails.
function M.call(fn, setting, bufnr)
  local ok, result = pcall(fn, bufnr)
  if not ok then
    notice.warn_once('"' .. setting .. '" in setup failed: ' .. tostring(result))
  end
  return not ok or result ~= false
end

return M
