-- Starts the server process and its LSP client.
--
-- With vim.lsp.config and vim.lsp.enable from Neovim 0.11 on, with an autocommand before. One client serves all workspace
-- folders. Owns the workspace folders of a client. `client.lua` owns the lifecycle, and passes `hooks` (before, ready,
-- attached, ended, failed, may_start, handlers).

local compat = require('weft.compat')
local config = require('weft.config')
local locate = require('weft.locate')

local M = {}

-- The name of the client that was started last.
local client_name = config.defaults.client_name

-- Folders that a client has, by client id and URI; folders to send once it is initialized, by client id.
local sent, to_send = {}, {}

--- Attaches to all current and future buffers.
function M.enable(command, hooks)
  client_name = config.options.client_name
  if compat.has_lsp_config then
    -- An assignment: a call would merge the options of an earlier setup.
    vim.lsp.config[client_name] = M._config(command, hooks)
    vim.lsp.enable(client_name)
  else
    M._attach_by_autocommand(command, hooks)
  end
end

function M.disable()
  if compat.has_lsp_config then
    vim.lsp.enable(client_name, false)
  end
  for _, client in ipairs(M.clients()) do
    compat.call(client, 'stop')
  end
end

--- For requests before a file is open.
function M.start_without_buffer(command, hooks)
  local started = vim.tbl_extend('force', M._config(command, hooks), { root_dir = locate.root(0) })
  M._start(started, nil, hooks)
end

--- The clients that have not stopped, including those that are starting.
function M.clients()
  return compat.clients(client_name)
end

function M._config(command, hooks)
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.textDocument.inlineCompletion = { dynamicRegistration = false }
  capabilities.experimental = vim.tbl_extend('force', capabilities.experimental or {}, { weft = { status = true } })
  -- An empty Lua table would be encoded as a list.
  local settings = next(config.options.settings) and config.options.settings or vim.empty_dict()
  local started = {
    name = client_name,
    cmd = command,
    -- Not the workspace: `python -m weft` would import modules from there.
    cmd_cwd = vim.fn.fnamemodify(command[1], ':h'),
    cmd_env = config.options.cmd_env,
    capabilities = capabilities,
    -- Without defaults: they would override the weft.toml of the workspace.
    init_options = settings,
    settings = { weft = settings },
    handlers = hooks.handlers,
    before_init = hooks.before,
    on_init = function(client)
      M._send_folders(client)
      hooks.ready(client)
    end,
    on_attach = hooks.attached,
  }
  if not compat.has_lsp_config then
    started.on_exit = hooks.ended
    return started
  end
  started.cmd = M._spawning(started, hooks)
  started.filetypes = config.options.filetypes
  started.reuse_client = M._reuse
  started.root_dir = function(bufnr, on_root)
    if M._is_served(bufnr) and hooks.may_start() then
      on_root(locate.root(bufnr))
    end
  end
  return started
end

--- Starts the process and handles its exit status: Neovim would warn at each restart.
function M._spawning(started, hooks)
  local command, spawn = started.cmd, { cwd = started.cmd_cwd, env = started.cmd_env }
  return function(dispatchers)
    local on_exit = dispatchers.on_exit
    dispatchers.on_exit = function(code, signal)
      on_exit(0, 0)
      hooks.ended(code, signal)
    end
    local ok, rpc = pcall(vim.lsp.rpc.start, command, dispatchers, spawn)
    if not ok then
      hooks.failed("The Weft server could not be started: " .. tostring(rpc))
      error(rpc, 0)
    end
    return rpc
  end
end

--- The equivalent of vim.lsp.enable for Neovim before 0.11.
function M._attach_by_autocommand(command, hooks)
  local function attach(bufnr)
    local filetype, filetypes = vim.bo[bufnr].filetype, config.options.filetypes
    local is_selected = filetype ~= '' and (not filetypes or vim.tbl_contains(filetypes, filetype))
    if is_selected and M._is_served(bufnr) and hooks.may_start() then
      M._start(vim.tbl_extend('force', M._config(command, hooks), { root_dir = locate.root(bufnr) }), bufnr, hooks)
    end
  end
  vim.api.nvim_create_autocmd('FileType', {
    group = vim.api.nvim_create_augroup('weft.client', { clear = true }),
    callback = function(event)
      attach(event.buf)
    end,
  })
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) then
      attach(bufnr)
    end
  end
end

function M._start(started, bufnr, hooks)
  if not compat.start(started, bufnr, M._reuse) then
    hooks.failed("The Weft server could not be started. See :Weft log for the cause, then run :Weft restart.")
  end
end

--- The `reuse_client` of vim.lsp.start: one client serves all roots; a new root becomes a workspace folder.
function M._reuse(client, started)
  if client.name ~= client_name or compat.call(client, 'is_stopped') then
    return false
  end
  if started.root_dir then
    M._add_folder(client, started.root_dir)
  end
  return true
end

function M._add_folder(client, root)
  local folder = { uri = vim.uri_from_fname(root), name = root }
  for _, known in ipairs(client.workspace_folders or {}) do
    sent[client.id .. known.uri] = true
  end
  if sent[client.id .. folder.uri] then
    return
  end
  sent[client.id .. folder.uri] = true
  to_send[client.id] = to_send[client.id] or {}
  table.insert(to_send[client.id], folder)
  if client.initialized then
    M._send_folders(client)
  end
end

function M._send_folders(client)
  local folders = to_send[client.id]
  to_send[client.id] = nil
  if folders then
    client.workspace_folders = vim.list_extend(client.workspace_folders or {}, folders)
    local event = { added = folders, removed = {} }
    compat.call(client, 'notify', 'workspace/didChangeWorkspaceFolders', { event = event })
  end
end

--- True for buffers of files; not for terminals, directory listings and plugin buffers.
function M._is_served(bufnr)
  local name = vim.api.nvim_buf_get_name(bufnr)
  return vim.bo[bufnr].buftype == '' and name ~= '' and not name:match('^%a[%w+.-]+://')
end

return M
