-- Taking ghost text, all or a part of it, looking at others, and refusing it.
--
-- Owns the edit and what the server is told of it. The same for both displays, Weft's own and Neovim's.

local client = require('weft.client')
local compat = require('weft.compat')
local config = require('weft.config')
local ghost = require('weft.ghost')
local notice = require('weft.notice')
local suggestions = require('weft.suggestion')

local M = {}

-- The candidates for one place, and which of them is shown.
local cycling = nil
-- Ends the request for them.
local cancel = nil

--- What shows ghost text here: `ghost` or `builtin`, which both have visible, show, clear and trigger.
function M.display()
  local own = not compat.has_builtin_ghost or config.options.ghost.display == 'own'
  return own and ghost or require('weft.builtin')
end

--- Takes what `part` makes of the rest (all of it, its first word, its first line). False when nothing is shown,
--- and then nothing is done: the caller may do what the key does otherwise.
function M.accept(part)
  local display = M.display()
  local suggestion, rest = display.visible()
  if not suggestion then
    return false
  end
  local piece = part and part(rest) or rest
  return display.taking(function()
    M._take(display, suggestion, rest, piece)
  end)
end

--- Shows the next candidate, or the one before with -1. The first time the server is asked for them.
function M.cycle(step)
  local display = M.display()
  local suggestion = display.visible()
  if not suggestion then
    return false
  end
  if cycling and cycling.list[cycling.index] == suggestion then
    M._show_candidate(display, step)
  else
    M._ask_for_candidates(display, step)
  end
  return true
end

function M.dismiss()
  local display = M.display()
  local suggestion = display.visible()
  if not suggestion then
    return false
  end
  client.notify('weft/didReject', { id = suggestion.id })
  display.dismiss()
  return true
end

function M.trigger()
  return M.display().trigger(function()
    notice.info('nothing to suggest here. :Weft why says what was looked at.')
  end)
end

function M._take(display, suggestion, rest, piece)
  local row, col, line = ghost.cursor()
  -- Between the key and now something else may have been typed.
  if suggestions.rest(suggestion, row, col, line) ~= rest then
    return
  end
  local left = rest:sub(#piece + 1)
  local stop = col + (left == '' and suggestion.n_replaced or 0)
  local lines = vim.split(piece, '\n', { plain = true })
  -- One undo takes back what was accepted, and neither what was typed before nor what is typed after.
  compat.break_undo()
  vim.api.nvim_buf_set_text(0, row, col, row, stop, lines)
  local last = #lines[#lines] + (#lines == 1 and col or 0)
  vim.api.nvim_win_set_cursor(0, { row + #lines, last })
  compat.break_undo_after()
  if left == '' then
    display.clear()
    M._tell_accepted(suggestion)
  else
    client.notify('weft/didPartiallyAccept', {
      id = suggestion.id,
      acceptedLength = suggestions.accepted_length(suggestion, left),
    })
    display.show({ suggestions.rebased(suggestion, left, ghost.cursor()) }, 1)
  end
end

function M._ask_for_candidates(display, step)
  local server = client.get(0)
  if not server then
    return
  end
  local params, asked = compat.position_params(server.offset_encoding), ghost.now()
  params.candidates = config.options.ghost.candidates
  if cancel then
    cancel()
  end
  cancel = client.request('weft/complete', params, function(err, result)
    cancel = nil
    local suggestion, rest = display.visible()
    local row, col, line = ghost.cursor()
    if err or not suggestion or not vim.deep_equal(asked, ghost.now()) then
      return
    end
    local list, known = { suggestion }, { [rest] = true }
    for _, item in ipairs(result and result.items or {}) do
      local about = { { id = item.id } }
      local other = suggestions.from_item({
        insertText = item.text,
        range = item.range,
        command = { title = '', command = 'weft.didAccept', arguments = about },
      }, server.offset_encoding, row, col, line)
      if other and not known[other.text] then
        known[other.text] = true
        table.insert(list, other)
      end
    end
    if #list == 1 then
      return notice.info('there is no other completion here.')
    end
    cycling = { list = list, index = 1 }
    M._show_candidate(display, step)
  end, 0)
end

--- The candidate `step` further on, of those that still fit what was typed meanwhile.
function M._show_candidate(display, step)
  local current = cycling.list[cycling.index]
  local row, col, line = ghost.cursor()
  local fitting = vim.tbl_filter(function(candidate)
    return suggestions.rest(candidate, row, col, line) ~= nil
  end, cycling.list)
  local index = 1
  for i, candidate in ipairs(fitting) do
    index = candidate == current and i or index
  end
  index = (index - 1 + step) % #fitting + 1
  cycling = { list = fitting, index = index }
  fitting[index].chosen = true
  display.show(fitting, index)
  client.notify('weft/didShow', { id = fitting[index].id })
end

--- As editors do it: the item's own command.
function M._tell_accepted(suggestion)
  if suggestion.command then
    local call = { command = suggestion.command.command, arguments = suggestion.command.arguments }
    client.request('workspace/executeCommand', call, function() end, 0)
  else
    client.notify('weft/didAccept', { id = suggestion.id })
  end
end

return M
