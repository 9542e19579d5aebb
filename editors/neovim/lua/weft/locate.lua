-- Which server is run, and which never: a workspace is somebody else's text, and nothing in it is executed.
--
-- Owns finding the command and the workspace folder. Starts nothing.

local compat = require('weft.compat')
local config = require('weft.config')

local M = {}

local INSTALL = 'Install it as its README says, or set cmd in require("weft").setup{}.'

--- The command as a list with an absolute program, or nil and what to do about it.
function M.command()
  local options = config.options
  local command = options.cmd and vim.deepcopy(options.cmd) or { 'weft', 'serve' }
  local program = M._program(command[1])
  if not program then
    return nil, string.format('"%s" was not found. %s Then :Weft restart.', command[1], INSTALL)
  end
  -- Who writes a whole path means it; a name or a relative path may lead into whatever workspace is open.
  local is_whole = command[1]:match('^[/\\~]') or command[1]:match('^%a:[/\\]')
  local inside = not is_whole and M._workspace_of(program)
  if inside then
    return nil,
      string.format(
        '%s lies in the workspace %s and is not run from there. Install Weft outside of it, or name this program in '
          .. 'cmd = { "%s", "serve" } if you trust it.',
        program,
        inside,
        program
      )
  end
  command[1] = program
  if options.shared and not vim.tbl_contains(command, '--shared') then
    table.insert(command, '--shared')
  end
  return command
end

--- The workspace folder of a buffer; nil for a file that is in none.
function M.root(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if name == '' or name:match('^%a[%w+.-]+://') then
    return M._plain_folder(compat.uv.cwd())
  end
  local folder = vim.fn.fnamemodify(name, ':p:h')
  local root = M._plain_folder(compat.root(folder, config.options.root_markers))
  if root then
    return root
  end
  local cwd = M._plain_folder(compat.uv.cwd())
  return cwd and M._is_below(folder, cwd) and cwd or nil
end

--- Absolute path of a program, or nil.
function M._program(name)
  local found = vim.fn.exepath(name:match('^~') and vim.fn.expand(name) or name)
  if found == '' and name == 'weft' then
    -- Where pipx and uv put programs, which a Neovim started from a desktop may not have on its PATH.
    found = vim.fn.exepath(vim.fn.expand('~/.local/bin/weft'))
  end
  return found ~= '' and vim.fn.fnamemodify(found, ':p') or nil
end

--- The folder that is open and holds the program, by its own path or where its links lead; nil when none does.
function M._workspace_of(program)
  local folders = { M._plain_folder(compat.uv.cwd()) }
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and vim.bo[bufnr].buftype == '' then
      table.insert(folders, M.root(bufnr))
    end
  end
  for _, folder in ipairs(folders) do
    local real_folder = compat.uv.fs_realpath(folder) or folder
    for _, path in ipairs({ program, compat.uv.fs_realpath(program) or program }) do
      if M._is_below(path, folder) or M._is_below(path, real_folder) then
        return folder
      end
    end
  end
end

--- Neither a home folder nor the whole disk is a workspace.
function M._plain_folder(folder)
  if not folder or folder == '/' or folder == compat.uv.os_homedir() or folder:match('^%a:[/\\]?$') then
    return nil
  end
  return folder
end

function M._is_below(path, folder)
  return path == folder or path:sub(1, #folder + 1) == folder .. '/'
end

return M
