-- Suggestions as values: conversion from and to LSP items, matching with the typed text, words and lines.
--
-- Pure functions of lines and bytes. Knows no buffer, no window and no server.

local compat = require('weft.compat')

local M = {}

--- Converts an item of textDocument/inlineCompletion for a cursor at the 0-based `row` and byte `col` in `line`. Nil when
--- it does not match there.
function M.from_item(item, encoding, row, col, line)
  local text = type(item.insertText) == 'table' and item.insertText.value or item.insertText
  if type(text) ~= 'string' or text == '' then
    return nil
  end
  local start, stop = col, col
  if item.range then
    if item.range.start.line ~= row or item.range['end'].line ~= row then
      return nil
    end
    start = compat.byte_of(line, item.range.start.character, encoding)
    stop = compat.byte_of(line, item.range['end'].character, encoding)
  end
  text = text:gsub('\r\n', '\n')
  local about = item.command and item.command.arguments and item.command.arguments[1]
  local suggestion = {
    id = type(about) == 'table' and about.id or nil,
    command = item.command,
    whole = text,
    text = text,
    row = row,
    start = start,
    before = line:sub(1, start),
    -- The text behind the cursor, and how many bytes of it an acceptance replaces.
    after = line:sub(col + 1),
    n_replaced = stop - col,
  }
  if start > col or stop < col or not M.rest(suggestion, row, col, line) then
    return nil
  end
  return suggestion
end

--- The rest of the suggestion at this cursor, or nil when it does not match the line.
function M.rest(suggestion, row, col, line)
  local start = suggestion.start
  local matches = row == suggestion.row
    and col >= start
    and line:sub(1, start) == suggestion.before
    and line:sub(col + 1) == suggestion.after
  local n_typed = col - start
  if not matches or suggestion.text:sub(1, n_typed) ~= line:sub(start + 1, col) or n_typed >= #suggestion.text then
    return nil
  end
  return suggestion.text:sub(n_typed + 1)
end

--- The suggestion with only `rest` left, at this cursor.
function M.rebased(suggestion, rest, row, col, line)
  return vim.tbl_extend('force', suggestion, {
    text = rest,
    row = row,
    start = col,
    before = line:sub(1, col),
  })
end

--- The accepted length when `rest` is left, in UTF-16 units.
function M.accepted_length(suggestion, rest)
  return compat.utf16_length(suggestion.whole:sub(1, #suggestion.whole - #rest))
end

--- Converts to an item of textDocument/inlineCompletion for a cursor at `col` of `line`.
function M.to_item(suggestion, rest, encoding, col, line)
  local function position(byte)
    return { line = suggestion.row, character = compat.character_of(line, byte, encoding) }
  end
  return {
    insertText = rest,
    range = { start = position(col), ['end'] = position(col + suggestion.n_replaced) },
    command = suggestion.command,
  }
end

--- The first word or run of punctuation of `rest`, with the spaces before it.
function M.word(rest)
  return rest:match('^%s*[%w_\128-\255]+') or rest:match('^%s*[^%w_%s\128-\255]+') or rest
end

--- The first line of `rest` that is not empty, with the line breaks before it.
function M.line(rest)
  return rest:match('^\n*[^\n]+') or rest
end

return M
