-- Next edits as values: where they are in a text, what they change of its lines, and applying them.
--
-- An edit is an item of `weft/nextEdit`. Knows no display and sends no message.

local compat = require('weft.compat')

local M = {}

--- The lines of an edit's file: of its buffer if loaded, else of the disk up to the end of the edit. A last line without
--- text stands for the end of the file. Nil when the file cannot be read.
function M.lines(edit)
  local bufnr = M.buffer(edit)
  local lines
  if bufnr then
    lines = vim.api.nvim_buf_get_lines(bufnr, 0, -1, false)
    table.insert(lines, '')
  else
    local ok, read = pcall(vim.fn.readfile, vim.uri_to_fname(edit.textDocument.uri), '', edit.range['end'].line + 1)
    if not ok then
      return nil
    end
    lines = vim.tbl_map(function(line)
      return (line:gsub('\r$', ''))
    end, read)
    if #lines == edit.range['end'].line then
      table.insert(lines, '')
    end
  end
  return lines
end

--- The loaded buffer of an edit's file, or nil.
function M.buffer(edit)
  -- Without vim.uri_to_bufnr, which makes a buffer for each file.
  local name = vim.uri_to_fname(edit.textDocument.uri)
  for _, bufnr in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(bufnr) and vim.api.nvim_buf_get_name(bufnr) == name then
      return bufnr
    end
  end
end

--- What an edit changes of these lines; nil when its old text is not there.
---
--- `first` is the first 0-based row, `removed` and `added` are whole lines, without those that stay. `row` is where the
--- cursor goes, in a line that exists. For a change within one line also `inline`: the bytes `start` to `stop` become
--- `text`.
function M.change(edit, lines, encoding)
  local first, last = edit.range.start.line, edit.range['end'].line
  if last >= #lines then
    return nil
  end
  local start = compat.byte_of(lines[first + 1], edit.range.start.character, encoding)
  local stop = compat.byte_of(lines[last + 1], edit.range['end'].character, encoding)
  local removed = {}
  for row = first, last do
    table.insert(removed, lines[row + 1])
  end
  local head, tail = removed[1]:sub(1, start), removed[#removed]:sub(stop + 1)
  local text = edit.text:gsub('\r\n?', '\n')
  if head .. edit.oldText:gsub('\r\n?', '\n') .. tail ~= table.concat(removed, '\n') then
    return nil
  end
  local added = vim.split(head .. text .. tail, '\n', { plain = true })
  local inline = first == last and #added == 1 and { start = start, stop = stop, text = text } or nil
  while #removed > 0 and #added > 0 and removed[1] == added[1] do
    table.remove(removed, 1)
    table.remove(added, 1)
    first = first + 1
  end
  while #removed > 0 and #added > 0 and removed[#removed] == added[#added] do
    table.remove(removed)
    table.remove(added)
  end
  return {
    first = first,
    removed = removed,
    added = added,
    inline = inline,
    row = math.max(#removed == 0 and first - 1 or first, 0),
  }
end

--- Applies edits, with one undo step for each file. Files that are not open are loaded, and stay unsaved as all others.
---
--- Returns the edits that were applied, and the others with the reason: { { edit, reason }, ... }.
function M.apply(edits, encoding)
  local by_uri, uris = {}, {}
  for _, edit in ipairs(edits) do
    local uri = edit.textDocument.uri
    if not by_uri[uri] then
      by_uri[uri] = {}
      table.insert(uris, uri)
    end
    table.insert(by_uri[uri], edit)
  end
  local applied, left = {}, {}
  for _, uri in ipairs(uris) do
    M._apply_to_file(uri, by_uri[uri], encoding, applied, left)
  end
  return applied, left
end

function M._apply_to_file(uri, edits, encoding, applied, left)
  local bufnr = vim.uri_to_bufnr(uri)
  -- Fails when the user aborts the dialog about a swap file.
  local ok = pcall(vim.fn.bufload, bufnr)
  local problem = not ok and 'the file could not be opened' or nil
  if ok and not vim.bo[bufnr].modifiable then
    problem = 'the buffer is not modifiable'
  end
  local chosen, changes = {}, {}
  for _, edit in ipairs(edits) do
    local reason = problem or M._conflict(edit, chosen)
    if not reason and not M.change(edit, M.lines(edit), encoding) then
      reason = 'the text has changed'
    end
    if reason then
      table.insert(left, { edit = edit, reason = reason })
    else
      table.insert(chosen, edit)
      table.insert(changes, { range = vim.deepcopy(edit.range), newText = edit.text })
    end
  end
  if #changes > 0 then
    vim.api.nvim_buf_call(bufnr, compat.break_undo)
    vim.lsp.util.apply_text_edits(changes, bufnr, encoding)
    vim.list_extend(applied, chosen)
  end
end

--- Why an edit cannot be made together with these.
function M._conflict(edit, others)
  for _, other in ipairs(others) do
    local one, two = edit.range, other.range
    if M._is_before(one.start, two['end']) and M._is_before(two.start, one['end']) or vim.deep_equal(one, two) then
      return 'another edit changes the same text'
    end
  end
end

function M._is_before(one, two)
  return one.line < two.line or (one.line == two.line and one.character < two.character)
end

return M
