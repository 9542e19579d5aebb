-- `:Weft explore`: the page to look inside, at the line of the cursor.
--
-- Runs `weft explore` in a terminal, once for each project; while it runs, the command opens its page at another line.
-- Owns the running pages. The program opens the browser at first, and writes the address of the page to a file.

local config = require('weft.config')
local locate = require('weft.locate')
local notice = require('weft.notice')
local terminal = require('weft.terminal')

local M = {}

-- The files with the addresses of running pages, by project.
M._address_files = {}

--- Opens the page at `file:line`, or at the cursor; without a file in the project, at its map.
function M.run(text)
  local place
  if text and text ~= '' then
    place = M._given(text)
  else
    place = M._cursor()
  end
  if place then
    M._open(place)
  end
end

function M._open(place)
  local root = place.root
  if not root then
    return notice.error('The file is in no project, so there is nothing to explore. Open a file of a project.')
  end
  if not M._address_files[root] then
    return M._start(root, place)
  end
  local ok, lines = pcall(vim.fn.readfile, M._address_files[root])
  if not (ok and lines[1]) then
    return notice.info('the page is starting; its terminal shows the progress.')
  end
  M._browse(lines[1] .. M._fragment(root, place))
end

--- What follows the address of the page to show a line, as `weft explore --at` prints it.
function M._fragment(root, place)
  if not place.file then
    return ''
  end
  local path = place.file:sub(#root + 2):gsub('\\', '/')
  local encoded = path:gsub('[^%w/._~-]', function(character)
    return string.format('%%%02X', character:byte())
  end)
  return string.format('#/file?path=%s&line=%d', encoded, place.line)
end

function M._start(root, place)
  local address_file = vim.fn.tempname()
  local words = { 'explore', root, '--address-file', address_file }
  if place.file then
    vim.list_extend(words, { '--at', place.file .. ':' .. place.line })
  end
  if config.options.shared then
    table.insert(words, '--unsaved')
  end
  M._address_files[root] = address_file
  local job = terminal.run(words, function()
    M._address_files[root] = nil
    os.remove(address_file) -- of a program that was killed
  end)
  if not job then
    M._address_files[root] = nil
  end
end

--- The place of `file:line`; nil after an error.
function M._given(text)
  local file, line = text:match('^(.-):(%d+)$')
  file = vim.fn.fnamemodify(vim.fn.expand(file or text), ':p')
  if vim.fn.filereadable(file) == 0 then
    return notice.error(file .. ' is not a file. Give FILE:LINE, or nothing for the cursor.')
  end
  return M._place(vim.fn.bufadd(file), math.max(1, tonumber(line or 1)))
end

--- The place of the cursor; in a report, of the last file window.
function M._cursor()
  local window = vim.bo.buftype == '' and 0 or require('weft.window').normal() or 0
  return M._place(vim.api.nvim_win_get_buf(window), vim.api.nvim_win_get_cursor(window)[1])
end

function M._place(bufnr, line)
  local root = locate.root(bufnr)
  local file = vim.api.nvim_buf_get_name(bufnr)
  local is_inside = root and vim.bo[bufnr].buftype == '' and file:sub(1, #root + 1) == root .. '/'
  return { root = root, file = is_inside and vim.fn.filereadable(file) == 1 and file or nil, line = line }
end

--- Opens an address in the browser; shows it where Neovim cannot.
function M._browse(address)
  local _, problem
  if vim.ui.open then
    _, problem = vim.ui.open(address)
  end
  if problem or not vim.ui.open then
    notice.info('open ' .. address)
  end
end

return M
