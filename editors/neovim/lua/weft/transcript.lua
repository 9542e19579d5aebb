-- The text of the chat buffer: the turns of the conversation, and the input for the next question.
--
-- Owns the text, the position of the streaming answer, the links to cited locations and the folds of long lists. Only the
-- input is modifiable. Moves no cursor. Knows no server.
--
--   ## You                 a question
--   What does pay call?
--
--   ## Weft                its answer
--   `pay` calls ... (shop/basket.py:4-5).
--
--   ## You                 `input`: the last heading, and below it the typed question

local jump = require('weft.jump')

local M = {}

local NS = vim.api.nvim_create_namespace('weft.transcript')
local YOU, WEFT = '## You', '## Weft'
-- The other keys are in the window bar, which Neovim 0.7 does not have.
local HINT = vim.fn.exists('+winbar') == 1 and '<CR> ask' or '<CR> ask  <C-c> stop  gf open location'
local AS_WRITTEN = 'ga asks as written'
local FOLD_START, FOLD_END = '^<details><summary>([^<>]+)</summary>%s*$', '^</details>%s*$'

local Transcript = {}
Transcript.__index = Transcript

--- Creates an empty transcript in a buffer.
function M.new(bufnr)
  local self = setmetatable({ bufnr = bufnr, citations = {}, folds = {} }, Transcript)
  self:_edit(function()
    jump.clear(bufnr, 0, -1)
    vim.api.nvim_buf_clear_namespace(bufnr, NS, 0, -1)
    vim.api.nvim_buf_set_lines(bufnr, 0, -1, false, { YOU, '' })
    self.input = self:_mark(0, 0, { virt_text = { { HINT, 'Comment' } } })
  end)
  return self
end

--- Whether a 0-based row is in the input.
function Transcript:is_input(row)
  return row > self:_row(self.input)
end

--- The text of the input.
function Transcript:typed()
  local lines = vim.api.nvim_buf_get_lines(self.bufnr, self:_row(self.input) + 1, -1, false)
  return vim.trim(table.concat(lines, '\n'))
end

function Transcript:set_typed(text)
  self:_edit(function()
    local row = self:_row(self.input)
    vim.api.nvim_buf_set_lines(self.bufnr, row + 1, -1, false, vim.split(text, '\n'))
  end)
end

--- Adds a question and an empty answer above the input. `about` is a link with a `place`, or nil.
function Transcript:ask(question, about)
  local lines = { YOU }
  vim.list_extend(lines, vim.split(question, '\n'))
  if about then
    table.insert(lines, 'about ' .. about.place)
  end
  local n_question = #lines
  vim.list_extend(lines, { '', WEFT, '', '' })
  self.citations, self.is_asked_as = {}, false
  if self.hint then
    -- The key asks the last question.
    vim.api.nvim_buf_del_extmark(self.bufnr, NS, self.hint)
    self.hint = nil
  end
  self:_edit(function()
    local row = self:_row(self.input)
    vim.api.nvim_buf_set_lines(self.bufnr, row, row, false, lines)
    self.question = self:_mark(row, 0, { right_gravity = false })
    self.start = self:_mark(row + #lines - 2, 0, { right_gravity = false })
    self.tail = self:_mark(row + #lines - 2, 0, {})
    if about then
      jump.add(self.bufnr, row + n_question - 1, 6, 6 + #about.place, about)
    end
  end)
end

--- Adds a line above the answer: the question that was answered where it is not the question as written.
function Transcript:asked_as(question)
  if self.is_asked_as or not question or question == vim.NIL or question == '' then
    return
  end
  self.is_asked_as = true
  self:_edit(function()
    local row = self:_row(self.start)
    local line = '> asked as: ' .. question:gsub('%s+', ' ')
    vim.api.nvim_buf_set_lines(self.bufnr, row, row, false, { line, '' })
    self.hint = self:_mark(row, 0, { virt_text = { { ' ' .. AS_WRITTEN, 'Comment' } } })
    self:_mark(row + 2, 0, { id = self.start, right_gravity = false })
  end)
end

--- The 0-based rows of the last question and of the heading of its answer.
function Transcript:rows()
  local row = self:_row(self.start) - (self.is_asked_as and 2 or 0)
  return self:_row(self.question), row - 1
end

--- Sets the progress message at the end of the answer; nil removes it.
function Transcript:set_busy(sentence)
  local row, column = self:_position(self.tail)
  local text = sentence and { { ' ' .. sentence, 'Comment' } } or nil
  self.tail = self:_mark(row, column, { id = self.tail, virt_text = text })
end

--- Appends text to the answer.
function Transcript:append(text)
  local row, column = self:_position(self.tail)
  self:_edit(function()
    vim.api.nvim_buf_set_text(self.bufnr, row, column, row, column, vim.split(text, '\n'))
  end)
  self:_link(row)
end

--- Clears the answer.
function Transcript:restart()
  self.citations = {}
  self:_replace({ '' })
end

--- Adds a citation; its location may precede or follow it in the text.
function Transcript:cite(citation)
  table.insert(self.citations, citation)
end

--- Completes the answer with its final `text`, its citations and the notes below it.
function Transcript:finish(text, citations, notes)
  local written = self:answer()
  text = (text or written):gsub('^%s*\n', ''):gsub('%s+$', '')
  local lines, folds = M.unfolded(vim.split(text, '\n'))
  if table.concat(lines, '\n') ~= written then
    self:_replace(lines)
  end
  for _, fold in ipairs(folds) do
    self:_add_fold(self:_row(self.start), fold)
  end
  self.citations = citations or self.citations
  self:_link(self:_row(self.start))
  if #notes > 0 then
    local quoted = vim.tbl_map(function(note)
      return '> ' .. note:gsub('\n', '\n> ')
    end, notes)
    local head = text == '' and '' or '\n\n'
    self:append(head .. table.concat(quoted, '\n'))
  end
  self:set_busy(nil)
end

--- Closes the folds in a window of the buffer. Folds belong to a window, so each new one needs them.
function Transcript:fold(window)
  for _, fold in ipairs(self.folds) do
    self:_fold(window, fold)
  end
end

--- The lines of an answer without the tags of its folds, and the folds as { first, last, summary }: 1-based lines, the
--- first of them the summary.
function M.unfolded(lines)
  local out, folds, open, fence = {}, {}, {}, nil
  for _, line in ipairs(lines) do
    local marks = line:match('^```+') or line:match('^~~~+')
    local summary = not fence and line:match(FOLD_START)
    if summary then
      table.insert(out, summary)
      table.insert(open, { first = #out, summary = summary })
    elseif not fence and #open > 0 and line:match(FOLD_END) then
      local fold = table.remove(open)
      while out[#out] == '' and #out > fold.first do
        table.remove(out)
      end
      fold.last = #out
      table.insert(folds, fold)
    elseif not (line == '' and #open > 0 and open[#open].first == #out) then
      table.insert(out, line)
    end
    if marks and not fence then
      fence = marks
    elseif marks and vim.startswith(marks, fence) then
      fence = nil
    end
  end
  for _, fold in ipairs(open) do
    fold.last = #out
    table.insert(folds, fold)
  end
  return out, folds
end

function Transcript:_add_fold(start, fold)
  local first = self:_mark(start + fold.first - 1, 0, {})
  local last = self:_mark(start + fold.last - 1, 0, {})
  local added = { first = first, last = last }
  table.insert(self.folds, added)
  for _, window in ipairs(vim.fn.win_findbuf(self.bufnr)) do
    self:_fold(window, added)
  end
end

function Transcript:_fold(window, fold)
  local first, last = self:_row(fold.first) + 1, self:_row(fold.last) + 1
  if last > first then
    vim.api.nvim_win_call(window, function()
      -- A range that is folded already would be folded once more.
      if vim.wo.foldmethod == 'manual' and vim.fn.foldlevel(first) == 0 then
        vim.cmd(first .. ',' .. last .. 'fold')
      end
    end)
  end
end

--- The text of the answer.
function Transcript:answer()
  local first, column = self:_position(self.start)
  local last, last_column = self:_position(self.tail)
  local lines = vim.api.nvim_buf_get_lines(self.bufnr, first, last + 1, false)
  lines[#lines] = lines[#lines]:sub(1, last_column)
  lines[1] = lines[1]:sub(column + 1)
  return table.concat(lines, '\n')
end

function Transcript:_replace(lines)
  local first, column = self:_position(self.start)
  local last, last_column = self:_position(self.tail)
  jump.clear(self.bufnr, first, last + 1)
  self:_edit(function()
    vim.api.nvim_buf_set_text(self.bufnr, first, column, last, last_column, lines)
  end)
end

--- Links the citations in the rows from `first` to the end of the answer.
function Transcript:_link(first)
  local last = self:_row(self.tail)
  jump.clear(self.bufnr, first, last + 1)
  for number, line in ipairs(vim.api.nvim_buf_get_lines(self.bufnr, first, last + 1, false)) do
    for _, citation in ipairs(self.citations) do
      for from, to in M.occurrences(line, citation.place) do
        local link = M.link(citation)
        if link and M.resolve(self.citations, citation.place, line:sub(1, from - 1)) == citation then
          jump.add(self.bufnr, first + number - 1, from - 1, to, link)
        end
      end
    end
  end
end

--- The citation of a location. Several folders may have the same path; then the name or the path of the folder precedes
--- the location.
function M.resolve(citations, place, before)
  local first, named
  for _, citation in ipairs(citations) do
    if citation.place == place and M.link(citation) then
      first = first or citation
      local folder = citation.folder or ''
      if folder ~= '' and vim.endswith(before, folder .. ': ') then
        return citation
      elseif folder ~= '' and vim.endswith(before, vim.fn.fnamemodify(folder, ':t') .. ': ') then
        named = named or citation
      end
    end
  end
  return named or first
end

--- The link of a citation or an evidence item; nil without a file.
function M.link(cited)
  if not cited.uri or cited.uri == vim.NIL then
    return nil
  end
  local range = cited.range
    or {
      start = { line = cited.startLine, character = 0 },
      ['end'] = { line = math.max(cited.startLine, cited.endLine - 1), character = 0 },
    }
  return { uri = cited.uri, range = range, text = cited.text, place = cited.place }
end

--- Iterates over the 1-based byte ranges where a line contains a location, but not as part of a longer one.
function M.occurrences(line, place)
  local from = 1
  return function()
    while true do
      local first, last = line:find(place, from, true)
      if not first then
        return nil
      end
      from = last + 1
      local before, after = line:sub(first - 1, first - 1), line:sub(last + 1, last + 1)
      if (first == 1 or not before:match('[%w_/.%-]')) and not after:match('%d') then
        return first, last
      end
    end
  end
end

function Transcript:_mark(row, column, options)
  options.virt_text_pos = options.virt_text and 'eol' or nil
  return vim.api.nvim_buf_set_extmark(self.bufnr, NS, row, column, options)
end

function Transcript:_position(mark)
  return unpack(vim.api.nvim_buf_get_extmark_by_id(self.bufnr, NS, mark, {}))
end

function Transcript:_row(mark)
  return (self:_position(mark))
end

--- Changes the buffer without an undo step.
function Transcript:_edit(change)
  local options = vim.bo[self.bufnr]
  local modifiable, levels = options.modifiable, options.undolevels
  options.modifiable, options.undolevels = true, -1
  local ok, problem = pcall(change)
  options.modifiable, options.undolevels = modifiable, levels
  options.modified = false
  if not ok then
    error(problem, 0)
  end
end

return M
