-- Accepting ghost text whole or in part, cycling through candidates, and dismissing it.
--
-- Owns the edit and the notifications to the server. Works with both displays, Weft's own and Neovim's.

local client = require('weft.client')
local compat = require('weft.compat')
local config = require('weft.config')
local ghost = require('weft.ghost')
local notice = require('weft.notice')
local suggestions = require('weft.suggestion')

local M = {}

-- The candidates at one position, and the index of the shown one.
local cycling = nil
-- Cancels the request for candidates.
local cancel = nil

--- The display module, `ghost` or `builtin`. Both have visible, show, clear, dismiss, taking and trigger.
function M.display()
  local own = not compat.has_builtin_ghost or config.options.ghost.display == 'own'
  return own and ghost or require('weft.builtin')
end

--- Accepts the ghost text, or the part that `part` returns: its first word or line. False, without an effect, when
--- nothing is shown; then the mapping may fall back to the key itself.
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

--- Shows the next candidate, or with -1 the previous one. Requests the candidates the first time.
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
    notice.info('no completion here. :Weft why shows the context that was used.')
  end)
end

function M._take(display, suggestion, rest, piece)
  local row, col, line = ghost.cursor()
  -- The text may have changed since the key was pressed.
  if suggestions.rest(suggestion, row, col, line) ~= rest then
    return
  end
  local left = rest:sub(#piece + 1)
  local stop = col + (left == '' and suggestion.n_replaced or 0)
  local lines = vim.split(piece, '\n', { plain = true })
  -- The accepted text is an undo step of its own.
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
  -- This request supersedes it, and its empty answer would hide what is shown.
  ghost.cancel_request()
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
      return notice.info('no other completion here.')
    end
    cycling = { list = list, index = 1 }
    M._show_candidate(display, step)
  end, 0)
end

--- Shows the candidate at offset `step` among those that still match the text.
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

--- Runs the command of the item, as LSP specifies.
function M._tell_accepted(suggestion)
  if suggestion.command then
    local call = { command = suggestion.command.command, arguments = suggestion.command.arguments }
    client.request('workspace/executeCommand', call, function() end, 0)
  else
    client.notify('weft/didAccept', { id = suggestion.id })
  end
end

return M
