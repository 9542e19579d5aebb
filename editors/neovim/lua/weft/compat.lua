-- Compatibility layer for Neovim 0.7 to 0.12.
--
-- Owns all version checks. The other modules use these functions; only `builtin.lua` requires a version.

local M = {}

local has = function(version)
  return vim.fn.has('nvim-' .. version) == 1
end

M.uv = vim.uv or vim.loop

--- Inline virtual text; before 0.10 virtual text can only overlay the line.
M.has_inline_text = has('0.10')
--- `vim.lsp.config` and `vim.lsp.enable`.
M.has_lsp_config = has('0.11')
--- `vim.lsp.inline_completion`.
M.has_builtin_ghost = vim.lsp.inline_completion ~= nil

function M.version()
  local version = vim.version()
  return string.format('%d.%d.%d', version.major, version.minor, version.patch)
end

--- A method of an LSP client: `call(client, 'request', ...)`.
function M.call(client, method, ...)
  if has('0.11') then
    return client[method](client, ...)
  end
  return client[method](...)
end

local started_ids = {}

--- The clients of this name that have not stopped, including those that are starting.
function M.clients(name)
  local known = {}
  if has('0.11') then
    known = vim.lsp.get_clients({ name = name, _uninitialized = true })
  else
    for _, id in ipairs(started_ids) do
      table.insert(known, vim.lsp.get_client_by_id(id))
    end
  end
  return vim.tbl_filter(function(client)
    return not M.call(client, 'is_stopped')
  end, known)
end

--- Starts a client unless `reuse(client, config)` is true for an existing one, and attaches `bufnr` if given. Returns its
--- id, or nil.
function M.start(config, bufnr, reuse)
  if has('0.11') then
    return vim.lsp.start(config, { bufnr = bufnr, attach = bufnr ~= nil, reuse_client = reuse })
  end
  local id
  for _, client in ipairs(M.clients(config.name)) do
    id = reuse(client, config) and client.id or id
  end
  if not id then
    id = vim.lsp.start_client(config)
    table.insert(started_ids, id)
  end
  if id and bufnr then
    vim.lsp.buf_attach_client(bufnr, id)
  end
  return id
end

--- Starts a new undo step in insert mode.
function M.break_undo()
  vim.go.undolevels = vim.go.undolevels
end

--- The same after an edit, so that the next typed text is a step of its own.
function M.break_undo_after()
  if has('0.11') then
    return M.break_undo()
  end
  -- 0.7 starts a new step only for a key.
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<C-g>u', true, false, true), 'ni', false)
end

--- The 0-based byte of an LSP character of a line; at most its length.
function M.byte_of(line, character, encoding)
  if encoding == 'utf-8' then
    return math.min(character, #line)
  end
  if has('0.11') then
    return vim.str_byteindex(line, encoding, character, false)
  end
  local ok, byte = pcall(vim.str_byteindex, line, character, encoding == 'utf-16')
  return ok and byte or #line
end

--- The LSP character of a byte of a line, both 0-based.
function M.character_of(line, byte, encoding)
  if encoding == 'utf-8' then
    return byte
  end
  if has('0.11') then
    return vim.str_utfindex(line, encoding, byte, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, byte)
  return encoding == 'utf-16' and utf16 or utf32
end

--- Length in UTF-16 units, the unit of `acceptedLength`.
function M.utf16_length(text)
  if has('0.11') then
    return vim.str_utfindex(text, 'utf-16')
  end
  local _, length = vim.str_utfindex(text)
  return length
end

--- The cursor of the current window as TextDocumentPositionParams.
function M.position_params(encoding)
  return vim.lsp.util.make_position_params(0, encoding)
end

--- The version of a buffer's text in LSP messages: 0 when it was opened, the changedtick of the last change after that.
function M.lsp_version(bufnr)
  return vim.lsp.util.buf_versions[bufnr] or 0
end

--- The nearest folder at or above `path` that contains one of `markers`, or nil. An item of `markers` is a name or a
--- list of names; an item counts before all later ones, as in vim.fs.root of Neovim 0.12.
function M.root(path, markers)
  for _, marker in ipairs(markers) do
    local folder = M._nearest(path, type(marker) == 'table' and marker or { marker })
    if folder then
      return folder
    end
  end
  return nil
end

function M._nearest(path, names)
  local folder = path
  while folder ~= '' do
    for _, name in ipairs(names) do
      if M.uv.fs_stat(folder .. '/' .. name) then
        return folder
      end
    end
    local above = vim.fn.fnamemodify(folder, ':h')
    if above == folder then
      return nil
    end
    folder = above
  end
  return nil
end

return M
