-- The options of `require('weft').setup{}`: defaults and validation.
--
-- Owns the options. An invalid option is reported, with the nearest valid name, and keeps its default. The server
-- validates the content of `settings`. Knows no client and no buffer.

local M = {}

M.defaults = {
  -- The command of the server, as a list. By default `weft serve`, searched on the PATH outside the workspace.
  cmd = nil,
  -- Additional environment variables for the server.
  cmd_env = {},
  -- Use one server process for all Neovim instances and editors of this user.
  shared = false,
  -- The server's settings, as in weft.toml: { completion = { multi_line = 'never' } }.
  settings = {},
  -- Filetypes to attach to; nil means all.
  filetypes = nil,
  -- The name of the LSP client. sidekick.nvim shows the next edits of a client whose name contains "copilot".
  client_name = 'weft',
  -- The workspace folder is the nearest folder above the file that contains one of these. Names of an earlier
  -- list count first: a repository is one workspace, whatever packages it has.
  root_markers = {
    { 'weft.toml', '.git', '.hg', '.svn' },
    { 'pyproject.toml', 'package.json', 'go.mod', 'Cargo.toml' },
  },
  -- Show ghost text: true, false, or a function of the buffer.
  enabled = true,
  ghost = {
    -- Show ghost text while typing; false shows it only after <Plug>(weft-trigger).
    auto = true,
    -- 'auto' uses vim.lsp.inline_completion where available (Neovim 0.12); 'own' never does.
    display = 'auto',
    -- Delay after the last key before a request. The server waits longer for a slow model.
    debounce_ms = 20,
    -- Show ghost text while the popup menu is visible.
    popup_menu = false,
    -- Number of candidates that <Plug>(weft-next) requests.
    candidates = 3,
    -- function(bufnr) that returns false to hide ghost text, for example while a completion plugin's menu is open.
    when = nil,
  },
  next_edits = {
    -- Show what your edits make necessary elsewhere: true, false, or a function of the buffer.
    enabled = true,
    -- 'eager' draws the next edit at its place, 'quiet' only names it at the end of the cursor's line. 'off' shows one
    -- only after :Weft next-edit.
    show = 'eager',
    -- Also look for one in Insert mode, so many milliseconds after the last key; 0 waits until Insert mode ends.
    idle_ms = 0,
  },
  -- Highlight groups that WeftGhost, WeftGhostHint, WeftNextEditAdd, WeftNextEditDelete and WeftNextEditHint link to.
  highlights = {
    ghost = 'Comment',
    hint = 'NonText',
    next_edit_add = 'DiffAdd',
    next_edit_delete = 'DiffDelete',
    next_edit_hint = 'Comment',
  },
  -- The window of the chat: 'vsplit', 'split', 'float' or 'tab'; its width or height in cells.
  chat = { window = 'vsplit', size = 72 },
  -- The window of the reports (why, status, doctor, log), of the history and of the follow-up edits.
  pages = { window = 'split', size = 15 },
  -- A server that exits is restarted after first_ms; the delay doubles with each attempt, up to longest_ms.
  restart = { first_ms = 1000, longest_ms = 30000, tries = 6 },
  -- Maximum number of lines that :Weft log shows.
  log = { lines = 2000 },
}

-- Valid types and values of options whose default does not show them.
local TYPES = {
  cmd = { 'table', 'nil' },
  filetypes = { 'table', 'nil' },
  enabled = { 'boolean', 'function' },
  ['next_edits.enabled'] = { 'boolean', 'function' },
  ['ghost.when'] = { 'function', 'nil' },
}
local WORDS = {
  ['ghost.display'] = { 'auto', 'own' },
  ['next_edits.show'] = { 'eager', 'quiet', 'off' },
  ['chat.window'] = { 'vsplit', 'split', 'float', 'tab' },
  ['pages.window'] = { 'vsplit', 'split', 'float', 'tab' },
}
local LISTS = { cmd = true, filetypes = true, root_markers = true }
-- Tables whose content is not validated here.
local FREE = { settings = true, cmd_env = true }

M.options = vim.deepcopy(M.defaults)

--- Sets the options; returns a list of problems. An invalid option keeps its default.
function M.take(given)
  local problems = {}
  M.options = vim.deepcopy(M.defaults)
  if given ~= nil and type(given) ~= 'table' then
    return { 'setup takes a table, not a ' .. type(given) .. '.' }
  end
  M._merge(M.options, given or {}, '', problems)
  return problems
end

--- Replaces the defaults in `into` by the valid values of `given`.
function M._merge(into, given, prefix, problems)
  local names = vim.tbl_keys(given)
  table.sort(names, function(a, b)
    return tostring(a) < tostring(b)
  end)
  for _, name in ipairs(names) do
    local key, value = prefix .. tostring(name), given[name]
    local problem = M._problem(key, value, into[name])
    if problem then
      table.insert(problems, problem)
    elseif type(into[name]) == 'table' and not LISTS[key] and not FREE[key] then
      M._merge(into[name], value, key .. '.', problems)
    else
      into[name] = value
    end
  end
end

function M._problem(key, value, default)
  local types = TYPES[key] or (default ~= nil and { type(default) })
  if not types then
    local nearest = M.nearest(key, M._keys())
    return string.format('unknown setting "%s"%s', key, nearest and (', did you mean "' .. nearest .. '"?') or '.')
  end
  if not vim.tbl_contains(types, type(value)) then
    return string.format('"%s" is a %s and must be a %s.', key, type(value), table.concat(types, ' or '))
  end
  if WORDS[key] and not vim.tbl_contains(WORDS[key], value) then
    return string.format('"%s" must be one of: %s.', key, table.concat(WORDS[key], ', '))
  end
  if type(value) == 'number' and value < 0 then
    return string.format('"%s" must not be negative.', key)
  end
  if key == 'cmd' and type(value) == 'table' and type(value[1]) ~= 'string' then
    return '"cmd" must be a list: { "/path/to/weft", "serve" }.'
  end
end

--- The full names of all options.
function M._keys()
  local keys = vim.tbl_keys(TYPES)
  local function add(settings, prefix)
    for name, value in pairs(settings) do
      table.insert(keys, prefix .. name)
      if type(value) == 'table' and not LISTS[prefix .. name] and not FREE[prefix .. name] then
        add(value, prefix .. name .. '.')
      end
    end
  end
  add(M.defaults, '')
  table.sort(keys)
  return keys
end

--- The name with the smallest edit distance to `name`; nil when none is close.
function M.nearest(name, names)
  local best, fewest = nil, math.max(2, math.floor(#name / 3)) + 1
  for _, candidate in ipairs(names) do
    local last = candidate:match('[^.]+$')
    local n = math.min(M._distance(name, candidate), M._distance(name:match('[^.]+$') or name, last) + 1)
    if n < fewest then
      best, fewest = candidate, n
    end
  end
  return best
end

--- Levenshtein distance.
function M._distance(a, b)
  local row = {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local diagonal = row[0]
    row[0] = i
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      diagonal, row[j] = row[j], math.min(row[j] + 1, row[j - 1] + 1, diagonal + cost)
    end
  end
  return row[#b]
end

return M
