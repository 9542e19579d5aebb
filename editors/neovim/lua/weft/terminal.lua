-- Commands of the server's program in a terminal window.

local locate = require('weft.locate')
local notice = require('weft.notice')

local M = {}

--- Opens a terminal with a command of the server's program. Returns the job, or nil after an error. `on_exit()` is called
--- when it ends.
function M.run(words, on_exit)
  local command, problem = locate.command()
  if not command then
    return notice.error(problem)
  end
  local run = {}
  for _, word in ipairs(command) do
    if word == 'serve' then
      break
    end
    table.insert(run, word)
  end
  vim.list_extend(run, words)
  vim.cmd('botright new')
  -- Not in the workspace, as the server.
  local options = { cwd = vim.fn.fnamemodify(command[1], ':h'), on_exit = on_exit }
  local job
  if vim.fn.has('nvim-0.11') == 1 then
    job = vim.fn.jobstart(run, vim.tbl_extend('force', options, { term = true }))
  else
    job = vim.fn.termopen(run, options)
  end
  vim.cmd('startinsert')
  return job
end

return M
