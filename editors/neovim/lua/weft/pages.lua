-- Pages that the server writes for a person: why this completion, the status, what the doctor found.
--
-- Owns how a page is shown: as it is, in a buffer of its own that can't be changed, with its places as links.
-- A page is a list of { text, uri?, range? }. Words and order are the server's; what helps is told as commands here.

local client = require('weft.client')
local compat = require('weft.compat')
local config = require('weft.config')
local jump = require('weft.jump')
local notice = require('weft.notice')
local window = require('weft.window')

local M = {}

-- Actions of a status that are no word of `:Weft`.
local HELP = { settings = ':help weft-settings', models = ':help weft-settings' }

local refreshes = {}

--- Shows a page in the buffer weft://NAME, in place of what stood there. `refresh` asks for it anew, for the key r.
function M.open(name, page, refresh)
  local bufnr, is_new = window.scratch('weft://' .. name)
  refreshes[bufnr] = refresh
  if is_new then
    M._prepare(bufnr)
  end
  M._write(bufnr, page)
  window.show(bufnr, config.options.pages)
end

--- Why a completion at the cursor would be what it is: the fragments that it is given, and what was left out.
function M.why()
  local bufnr = vim.api.nvim_get_current_buf()
  local server = client.get(bufnr)
  if not server then
    local reason = client.get() and 'Weft does not complete in this buffer. :Weft status says what it knows.'
      or client.why_not()
    return notice.warn(reason)
  end
  M._report('why', 'weft/explain', compat.position_params(server.offset_encoding), bufnr)
end

--- What the server is doing, and what helps.
function M.status()
  M._report('status', 'weft/status')
end

--- What is in the way of completions and answers, and the next step for each.
function M.doctor()
  M._report('doctor', 'weft/doctor')
end

function M._report(name, method, params, bufnr)
  local function ask()
    client.request(method, params, function(err, result)
      if err then
        notice.warn(err.message)
      elseif not result or not result.page then
        notice.warn('the server has nothing to say of this yet. Try again when it is ready: :Weft status.')
      else
        M.open(name, vim.list_extend(result.page, M._helps(result.actions)), ask)
      end
    end, bufnr)
  end
  ask()
end

--- What helps, as the commands that do it; nothing for a page without actions.
function M._helps(actions)
  local lines = {}
  for _, each in ipairs(actions or {}) do
    local command = HELP[each.action] or ':Weft ' .. each.action
    table.insert(lines, { text = string.format('  %s: %s', each.title, command) })
  end
  return #lines > 0 and vim.list_extend({ { text = '' }, { text = 'What helps' } }, lines) or {}
end

function M._prepare(bufnr)
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].modifiable = false
  jump.attach(bufnr)
  vim.keymap.set('n', '<CR>', jump.follow, { buffer = bufnr, desc = 'Weft: open the place' })
  vim.keymap.set('n', 'q', window.close, { buffer = bufnr, desc = 'Weft: close the page' })
  vim.keymap.set('n', 'r', function()
    if refreshes[bufnr] then
      refreshes[bufnr]()
    end
  end, { buffer = bufnr, desc = 'Weft: ask for the page again' })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = bufnr,
    callback = function()
      refreshes[bufnr] = nil
    end,
  })
  vim.bo[bufnr].filetype = 'weftpage'
end

function M._write(bufnr, page)
  local lines, linked = {}, {}
  for _, entry in ipairs(page) do
    for n, text in ipairs(vim.split(entry.text, '\r?\n')) do
      table.insert(lines, text)
      if n == 1 and entry.uri and entry.uri ~= vim.NIL and text:find('%S') then
        linked[#lines] = { uri = entry.uri, range = M._range(entry), text = vim.trim(text) }
      end
    end
  end
  jump.clear(bufnr, 0, -1)
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  for row, link in pairs(linked) do
    jump.add(bufnr, row - 1, lines[row]:find('%S') - 1, #lines[row], link)
  end
end

--- Where a line of a page leads; to the beginning of the file where it names no lines.
function M._range(entry)
  if entry.range and entry.range ~= vim.NIL then
    return entry.range
  end
  return { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 0 } }
end

return M
