-- What a person may set in `require('weft').setup{}`, with its defaults, and what is said when it is set wrongly.
--
-- Owns the table of settings. A mistake stops nothing: it is named, with the nearest right name, and the default
-- stays. What stands in `settings` belongs to the server, which checks it by itself. Knows no client and no buffer.

local M = {}

M.defaults = {
  -- The server's command as a list. Without it `weft serve` is looked for on the PATH, outside of the workspace.
  cmd = nil,
  -- More environment variables for the server.
  cmd_env = {},
  -- One server for all Neovims and editors of this user.
  shared = false,
  -- The server's settings, as in weft.toml: { completion = { multi_line = 'never' } }.
  settings = {},
  -- Filetypes to complete in; nil is every one.
  filetypes = nil,
  -- The folder that holds one of these, above the file, is the workspace folder.
  root_markers = { 'weft.toml', '.git', '.hg', '.svn', 'pyproject.toml', 'package.json', 'go.mod', 'Cargo.toml' },
  -- Whether there is ghost text: true, false, or a function of the buffer.
  enabled = true,
  ghost = {
    -- Without being asked; false leaves it to <Plug>(weft-trigger).
    auto = true,
    -- 'auto' takes vim.lsp.inline_completion where Neovim has it (0.12); 'own' never does.
    display = 'auto',
    -- A burst of keys is one request. The server itself waits longer where a model is slow.
    debounce_ms = 20,
    -- Ghost text beside the visible popup menu.
    popup_menu = false,
    -- How many texts <Plug>(weft-next) asks for.
    candidates = 3,
    -- function(bufnr): false shows nothing now, as while a completion plugin's menu is open.
    when = nil,
  },
  -- Highlight groups that Weft's own link to.
  highlights = { ghost = 'Comment', hint = 'NonText' },
  -- Where the chat opens: 'vsplit', 'split', 'float' or 'tab'; its width or height in cells.
  chat = { window = 'vsplit', size = 72 },
  -- The same for pages: why, status, doctor, history.
  pages = { window = 'split', size = 15 },
  -- A server that ended by itself is started again: after first_ms, then after twice as long, and so on.
  restart = { first_ms = 1000, longest_ms = 30000, tries = 6 },
  -- Lines of the server's log that :Weft log shows.
  log = { lines = 2000 },
}

-- Of settings whose default does not say it: the types, or the words, that are right.
local TYPES = {
  cmd = { 'table', 'nil' },
  filetypes = { 'table', 'nil' },
  enabled = { 'boolean', 'function' },
  ['ghost.when'] = { 'function', 'nil' },
}
local WORDS = {
  ['ghost.display'] = { 'auto', 'own' },
  ['chat.window'] = { 'vsplit', 'split', 'float', 'tab' },
  ['pages.window'] = { 'vsplit', 'split', 'float', 'tab' },
}
local LISTS = { cmd = true, filetypes = true, root_markers = true }
-- What is inside is not ours to check.
local FREE = { settings = true, cmd_env = true }

M.options = vim.deepcopy(M.defaults)

--- Takes the settings; a list of what is wrong with them, which then keeps its default.
function M.take(given)
  local problems = {}
  M.options = vim.deepcopy(M.defaults)
  if given ~= nil and type(given) ~= 'table' then
    return { 'setup takes a table, not a ' .. type(given) .. '.' }
  end
  M._merge(M.options, given or {}, '', problems)
  return problems
end

--- The defaults below `into` replaced by what is right in `given`.
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

--- Every setting's whole name.
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

--- Of `names` the one that differs from `name` in the fewest letters; nil when none is near.
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

--- Letters to add, drop or change to make one of the other.
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
