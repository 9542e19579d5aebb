-- `:checkhealth weft`: what works here, what does not, and the next step.
--
-- Owns the order of the questions. The answers about models and the index are the server's own.

local client = require('weft.client')
local compat = require('weft.compat')
local locate = require('weft.locate')

local M = {}

-- How long the server may take to answer here; nobody types meanwhile.
local WAIT_MS = 10000

-- Their names before Neovim 0.10.
local health = vim.health or require('health')
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local info = health.info or health.report_info
local warn = health.warn or health.report_warn
local report_error = health.error or health.report_error

function M.check()
  start('Neovim')
  M._neovim()
  start("Weft's server")
  if M._server() then
    M._status()
    M._doctor()
  end
end

function M._neovim()
  local version = compat.version()
  if not compat.has_lsp_config then
    local what = 'Neovim %s: ghost text, chat and pages work; 0.11 is the oldest that is tested with every change.'
    warn(string.format(what, version), { 'Update Neovim to 0.11 or newer.' })
  else
    ok('Neovim ' .. version)
  end
  if require('weft.accept').display() ~= require('weft.ghost') then
    info("Ghost text is shown by Neovim's vim.lsp.inline_completion (ghost.display = 'own' has Weft show it).")
  elseif compat.has_inline_text then
    info('Ghost text is shown by Weft.')
  else
    info('Ghost text is shown by Weft; in the middle of a line it lies over the rest, which loses its colours.')
  end
  if require('weft').is_set_up() then
    ok("require('weft').setup was called.")
  else
    warn("require('weft').setup was not called.", { "Put require('weft').setup{} into your init.lua." })
  end
end

--- Whether a server runs and answers.
function M._server()
  local command, problem = locate.command()
  if not command then
    report_error(problem)
    return false
  end
  info('Command: ' .. table.concat(command, ' '))
  local server = client.get()
  if not server then
    report_error(client.why_not(), { ':Weft restart', ':Weft log' })
    return false
  end
  local n_buffers = #vim.lsp.get_buffers_by_client_id(server.id)
  ok(string.format('It runs; buffers that it serves: %d; columns are counted in %s.', n_buffers, server.offset_encoding))
  for _, folder in ipairs(server.workspace_folders or {}) do
    info('Workspace folder: ' .. folder.name)
  end
  return true
end

function M._status()
  start('Status')
  local status = M._answer('weft/status')
  for _, line in ipairs(status and status.page or {}) do
    if line.text ~= '' then
      info(line.text)
    end
  end
end

function M._doctor()
  start('Doctor')
  local found = M._answer('weft/doctor')
  for _, finding in ipairs(found and found.findings or {}) do
    local text = finding.what .. ': ' .. finding.found
    if finding.nextStep == '' then
      ok(text)
    else
      warn(text, { finding.nextStep })
    end
  end
end

--- The server's answer, or nil when that is said to be missing.
function M._answer(method)
  local answer, problem
  client.request(method, vim.NIL, function(err, result)
    answer, problem = result or {}, err
  end)
  vim.wait(WAIT_MS, function()
    return answer ~= nil
  end, 20)
  if problem or not answer then
    report_error(problem and problem.message or 'The server does not answer.', { ':Weft restart', ':Weft log' })
    return nil
  end
  return answer
end

return M
