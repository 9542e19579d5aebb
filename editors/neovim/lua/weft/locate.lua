-- Server discovery: finds the command of the server and the workspace folder of a buffer.
--
-- No program inside an open workspace is used, unless `cmd` has its full path. Starts nothing.

local compat = require('weft.compat')
local config = require('weft.config')

local M = {}

local INSTALL = 'Install the weft-lsp package, or set cmd in require("weft").setup{}.'

--- The command as a list with an absolute program, or nil and an error with the next step.
function M.command()
  local options = config.options
  local command = options.cmd and vim.deepcopy(options.cmd) or { 'weft', 'serve' }
  local program = M._program(command[1])
  if not program then
    return nil, string.format('"%s" was not found. %s Then run :Weft restart.', command[1], INSTALL)
  end
  -- A full path is trusted; a name or a relative path may resolve to a program in an open workspace.
  local is_whole = command[1]:match('^[/\\~]') or command[1]:match('^%a:[/\\]')
  local inside = not is_whole and M._workspace_of(program)
  if inside then
    return nil,
      string.format(
        '%s is inside the workspace %s and is not run from there. Install Weft outside the workspace, or set '
          .. 'cmd = { "%s", "serve" } if you trust this program.',
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

--- The workspace folder of a buffer, or nil: then the server completes with the file and the files that it imports.
function M.root(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  if name == '' or name:match('^%a[%w+.-]+://') then
    return M._project(compat.uv.cwd())
  end
  local folder = vim.fn.fnamemodify(name, ':p:h')
  local root = M._project(compat.root(folder, config.options.root_markers))
  if root then
    return root
  end
  local cwd = M._project(compat.uv.cwd())
  return cwd and M._is_below(folder, cwd) and cwd or nil
end

--- Absolute path of a program, or nil.
function M._program(name)
  local found = vim.fn.exepath(name:match('^~') and vim.fn.expand(name) or name)
  if found == '' and name == 'weft' then
    -- pipx and uv install here, but a Neovim that the desktop starts may not have it on its PATH.
    found = vim.fn.exepath(vim.fn.expand('~/.local/bin/weft'))
  end
  return found ~= '' and vim.fn.fnamemodify(found, ':p') or nil
end

--- The open folder that contains the program, with and without resolved links, or nil.
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

--- nil for the home folder and the root of the disk, which are no workspaces.
function M._plain_folder(folder)
  if not folder or folder == '/' or folder == compat.uv.os_homedir() or folder:match('^%a:[/\\]?$') then
    return nil
  end
  return folder
end

--- nil also for the folders above the home folder and for temporary folders: nothing beside a file there belongs to it.
function M._project(folder)
  local home = compat.uv.os_homedir()
  if not M._plain_folder(folder) or (home and M._is_below(home, folder)) then
    return nil
  end
  local real = compat.uv.fs_realpath(folder) or folder
  for _, temporary in ipairs({ compat.uv.os_tmpdir() or '/tmp', '/tmp', '/var/tmp', '/dev/shm' }) do
    if real == (compat.uv.fs_realpath(temporary) or temporary) then
      return nil
    end
  end
  return folder
end

function M._is_below(path, folder)
  return path == folder or path:sub(1, #folder + 1) == folder .. '/'
end

return M
