-- Whether there may be ghost text here and now, and switching it on and off.
--
-- Owns what a person switched, for this session: everywhere, for a filetype, for a buffer; the narrowest counts.
-- Knows no server.

local config = require('weft.config')
local notice = require('weft.notice')

local M = {}

local switched = { everywhere = nil, filetypes = {}, buffers = {} }

--- Whether a person wants ghost text in this buffer.
function M.is_enabled(bufnr)
  local of_buffer, of_filetype = switched.buffers[bufnr], switched.filetypes[vim.bo[bufnr].filetype]
  if of_buffer ~= nil then
    return of_buffer
  end
  if of_filetype ~= nil then
    return of_filetype
  end
  if switched.everywhere ~= nil then
    return switched.everywhere
  end
  local enabled = config.options.enabled
  if type(enabled) == 'function' then
    return M._says(enabled, 'enabled', bufnr)
  end
  return enabled
end

--- Switches to the other state in `scope` ('global', 'filetype' or 'buffer'); what it is now, in a sentence.
function M.toggle(scope, bufnr)
  local filetype, on = vim.bo[bufnr].filetype, not M.is_enabled(bufnr)
  local where
  if scope == 'buffer' then
    switched.buffers[bufnr], where = on, 'in this buffer'
  elseif scope == 'filetype' then
    switched.buffers[bufnr], switched.filetypes[filetype], where = nil, on, 'in ' .. filetype .. ' files'
  else
    -- What was switched for less would hide it.
    switched, where = { everywhere = on, filetypes = {}, buffers = {} }, 'everywhere'
  end
  return string.format('Weft is %s %s.', on and 'on' or 'off', where)
end

--- Whether ghost text may be shown in the current buffer now. `invoked`, by hand, also where it is switched off.
function M.may_show(invoked)
  local bufnr, mode = vim.api.nvim_get_current_buf(), vim.api.nvim_get_mode().mode
  local options = config.options.ghost
  local typing = mode == 'i' or (options.popup_menu and mode:sub(1, 1) == 'i')
  -- What a macro records or plays has no ghost text, so that it does the same every time.
  local macro = vim.fn.reg_recording() ~= '' or vim.fn.reg_executing() ~= ''
  if not typing or macro or vim.bo[bufnr].buftype ~= '' or not vim.bo[bufnr].modifiable then
    return false
  end
  if vim.fn.pumvisible() == 1 and not options.popup_menu then
    return false
  end
  if options.when and not M._says(options.when, 'ghost.when', bufnr) then
    return false
  end
  return invoked or (options.auto and M.is_enabled(bufnr))
end

--- What a person's own function says; one that fails says yes, and the failure is told once.
function M._says(fn, setting, bufnr)
  local ok, said = pcall(fn, bufnr)
  if not ok then
    notice.warn_once('"' .. setting .. '" in setup failed: ' .. tostring(said))
  end
  return not ok or said ~= false
end

return M
