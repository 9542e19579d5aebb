-- What differs between Neovim 0.7 and 0.12, said once.
--
-- Owns every question about Neovim's version. The other modules call these functions and know no version,
-- but for `builtin.lua`, which is about one.

local M = {}

local has = function(version)
  return vim.fn.has('nvim-' .. version) == 1
end

M.uv = vim.uv or vim.loop

--- Text can be shown between two characters of a line; before, it can only be laid over what stands there.
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

--- The clients of this name that have not ended, those that are starting too.
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

--- Starts a client unless `reuse(client, config)` is true of one there is, and attaches `bufnr` if given.
--- Its id, or nil.
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

--- Closes the step that undo takes back, in the middle of insert mode.
function M.break_undo()
  vim.go.undolevels = vim.go.undolevels
end

--- The same behind an edit of ours, so that what is typed next is a step of its own.
function M.break_undo_after()
  if has('0.11') then
    return M.break_undo()
  end
  -- 0.7 goes on with the same step unless it is told by a key.
  vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes('<C-g>u', true, false, true), 'ni', false)
end

--- The byte, from 0, of an LSP character of a line; never past its end.
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

--- The LSP character of a byte of a line, both from 0.
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

--- Length in UTF-16 units, as the protocol counts what was accepted.
function M.utf16_length(text)
  if has('0.11') then
    return vim.str_utfindex(text, 'utf-16')
  end
  local _, length = vim.str_utfindex(text)
  return length
end

--- Where the cursor of the current window stands, as a request's parameters.
function M.position_params(encoding)
  return vim.lsp.util.make_position_params(0, encoding)
end

--- The nearest folder at or above `path` that holds one of `markers`, or nil.
function M.root(path, markers)
  local folder = path
  while folder ~= '' do
    for _, marker in ipairs(markers) do
      if M.uv.fs_stat(folder .. '/' .. marker) then
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
