-- Reports of the server: explanation of a completion, status, doctor.
--
-- Shows a report in a buffer that is not modifiable, with links. A report is a list of { text, uri?, range? } from the
-- server; its actions are shown as `:Weft` commands, which <CR> runs. Pages of the plugin itself also have `run`, what <CR>
-- does on the line, `link`, the bytes of a line that are the link, and `spans`, bytes with a highlight group:
-- { { first, last, group }, ... }.

local client = require('weft.client')
local compat = require('weft.compat')
local config = require('weft.config')
local jump = require('weft.jump')
local notice = require('weft.notice')
local window = require('weft.window')

local M = {}

-- The commands for actions that are no subcommand of `:Weft`.
local COMMANDS = { settings = 'help weft-settings', models = 'help weft-settings' }
local EXPLORE = { title = 'Explore the index in a browser', action = 'explore' }

local SPANS = vim.api.nvim_create_namespace('weft.pages')

local refreshes = {}

--- Shows a report in the buffer weft://NAME, and returns the buffer. `refresh` requests it again, for the key r.
function M.open(name, page, refresh)
  local bufnr = M._fill(name, page, refresh)
  window.show(bufnr, config.options.pages)
  return bufnr
end

--- Shows a short report in a floating window at the cursor, which is closed when it is left.
function M.float(name, page)
  local bufnr = M._fill(name, page, nil)
  vim.keymap.set('n', '<Esc>', window.close, { buffer = bufnr, desc = 'Weft: close the report' })
  window.float_at_cursor(bufnr)
end

function M._fill(name, page, refresh)
  local bufnr, is_new = window.scratch('weft://' .. name)
  refreshes[bufnr] = refresh
  if is_new then
    M._prepare(bufnr)
  end
  M._write(bufnr, page)
  return bufnr
end

--- Explains the completion at the cursor: why it is shown or hidden, and where it comes from.
function M.why()
  local bufnr = vim.api.nvim_get_current_buf()
  local server = client.get(bufnr)
  if not server then
    local reason = client.get() and 'Weft is not attached to this buffer. See :Weft status.'
      or client.why_not()
    return notice.warn(reason)
  end
  local params = M._position_of_completion(server.offset_encoding)
  M._report('why', 'weft/explain', params, { title = 'Explore what retrieval finds at this line', action = 'explore' }, bufnr)
end

--- The cursor; in Normal mode on the last character, the position after it, where insertion ended.
function M._position_of_completion(encoding)
  local params = compat.position_params(encoding)
  local line, byte = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2]
  local is_last = vim.fn.strchars(line:sub(byte + 1)) == 1
  if is_last and vim.api.nvim_get_mode().mode:sub(1, 1) == 'n' then
    params.position.character = compat.character_of(line, #line, encoding)
  end
  return params
end

--- The state of the server, with the available actions.
function M.status()
  M._report('status', 'weft/status', nil, EXPLORE)
end

--- Problems of the installation and configuration, with the next steps.
function M.doctor()
  M._report('doctor', 'weft/doctor')
end

--- Requests a report and shows it, with its actions and one of the plugin.
function M._report(name, method, params, action, bufnr)
  local function ask()
    client.request(method, params, function(err, result)
      if err then
        notice.warn(err.message)
      elseif not result or not result.page then
        notice.warn('the server has no report yet. Try again when :Weft status says that it is ready.')
      else
        local actions = vim.list_extend(result.actions or {}, { action })
        M.open(name, vim.list_extend(result.page, M._action_lines(actions)), ask)
      end
    end, bufnr)
  end
  ask()
end

--- The actions of a report as commands, which <CR> runs.
function M._action_lines(actions)
  local lines = {}
  for _, each in ipairs(actions) do
    local command = COMMANDS[each.action] or 'Weft ' .. each.action
    local function run()
      vim.cmd(command)
    end
    table.insert(lines, { text = string.format('  %s: :%s', each.title, command), run = run })
  end
  return #lines > 0 and vim.list_extend({ { text = '' }, { text = 'Actions' } }, lines) or {}
end

function M._prepare(bufnr)
  vim.bo[bufnr].bufhidden = 'wipe'
  vim.bo[bufnr].modifiable = false
  jump.attach(bufnr)
  vim.keymap.set('n', '<CR>', jump.follow, { buffer = bufnr, desc = 'Weft: open the location, or run the action' })
  vim.keymap.set('n', 'q', window.close, { buffer = bufnr, desc = 'Weft: close the report' })
  vim.keymap.set('n', 'r', function()
    if refreshes[bufnr] then
      refreshes[bufnr]()
    end
  end, { buffer = bufnr, desc = 'Weft: refresh the report' })
  vim.api.nvim_create_autocmd('BufWipeout', {
    buffer = bufnr,
    callback = function()
      refreshes[bufnr] = nil
    end,
  })
  vim.bo[bufnr].filetype = 'weftpage'
end

function M._write(bufnr, page)
  local lines, linked, spans = {}, {}, {}
  for _, entry in ipairs(page) do
    for n, text in ipairs(vim.split(entry.text, '\r?\n')) do
      table.insert(lines, text)
      if n == 1 and entry.uri and entry.uri ~= vim.NIL and text:find('%S') then
        local link = { uri = entry.uri, range = M._range(entry), text = vim.trim(text) }
        linked[#lines] = { bytes = entry.link or { text:find('%S') - 1, #text }, link = link }
      elseif n == 1 and entry.run then
        linked[#lines] = { bytes = { text:find('%S') - 1, #text }, link = { run = entry.run } }
      end
      spans[#lines] = n == 1 and entry.spans or nil
    end
  end
  jump.clear(bufnr, 0, -1)
  vim.bo[bufnr].modifiable = true
  vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, lines)
  vim.bo[bufnr].modifiable = false
  vim.api.nvim_buf_clear_namespace(bufnr, SPANS, 0, -1)
  for row, entry in pairs(linked) do
    jump.add(bufnr, row - 1, entry.bytes[1], entry.bytes[2], entry.link)
  end
  for row, of_row in pairs(spans) do
    for _, span in ipairs(of_row) do
      vim.api.nvim_buf_set_extmark(bufnr, SPANS, row - 1, span[1], { end_col = span[2], hl_group = span[3] })
    end
  end
end

--- The range of a link; the start of the file when it has none.
function M._range(entry)
  if entry.range and entry.range ~= vim.NIL then
    return entry.range
  end
  return { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 0 } }
end

return M
