-- `:checkhealth weft`: checks of Neovim and the server.
--
-- The findings about models and the index come from the server.

local client = require('weft.client')
local compat = require('weft.compat')
local config = require('weft.config')
local locate = require('weft.locate')

local M = {}

local TIMEOUT_MS = 10000

-- The functions have other names before Neovim 0.10.
local health = vim.health or require('health')
local start = health.start or health.report_start
local ok = health.ok or health.report_ok
local info = health.info or health.report_info
local warn = health.warn or health.report_warn
local report_error = health.error or health.report_error

function M.check()
  start('Neovim')
  M._neovim()
  start("Weft server")
  if M._server() then
    M._status()
    M._doctor()
  end
end

function M._neovim()
  local version = compat.version()
  if not compat.has_lsp_config then
    local what = 'Neovim %s: ghost text, chat and reports work, but only 0.11 and newer are tested with every change.'
    warn(string.format(what, version), { 'Update Neovim to 0.11 or newer.' })
  else
    ok('Neovim ' .. version)
  end
  if require('weft.accept').display() ~= require('weft.ghost') then
    info("Ghost text is displayed by vim.lsp.inline_completion (ghost.display = 'own' uses Weft's display).")
  elseif compat.has_inline_text then
    info('Ghost text is displayed by Weft.')
  else
    info('Ghost text is displayed by Weft. In the middle of a line it overlays the rest, without its highlighting.')
  end
  info('Plugin ' .. require('weft').version)
  if require('weft').is_set_up() then
    ok("require('weft').setup was called.")
  else
    warn("require('weft').setup was not called.", { "Call require('weft').setup{} in your init.lua." })
  end
end

--- Whether a server runs.
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
  ok(string.format('Running; attached buffers: %d; position encoding: %s.', n_buffers, server.offset_encoding))
  for _, folder in ipairs(server.workspace_folders or {}) do
    info('Workspace folder: ' .. folder.name)
  end
  M._next_edits()
  return true
end

--- Whether the server knows next edits; it answers null for a file that is not open.
function M._next_edits()
  local document = { uri = 'file:///weft-health', version = 0 }
  local params = { textDocument = document, position = { line = 0, character = 0 } }
  local _, problem = M._answer('weft/nextEdit', params)
  if problem then
    local advice = 'Update the server: it is older than the plugin. `pipx upgrade weft-lsp`'
    warn('The server has no next edits: ' .. problem.message, { advice })
  else
    ok('The server finds next edits; shown: ' .. config.options.next_edits.show .. '.')
  end
end

function M._status()
  start('Status')
  local status = M._answer_or_report('weft/status')
  for _, line in ipairs(status and status.page or {}) do
    if line.text ~= '' then
      info(line.text)
    end
  end
  info('`:Weft explore` shows the index in a browser: a map, symbols, and what retrieval finds at a line.')
end

function M._doctor()
  start('Doctor')
  local found = M._answer_or_report('weft/doctor')
  for _, finding in ipairs(found and found.findings or {}) do
    local text = finding.what .. ': ' .. finding.found
    if finding.nextStep == '' then
      ok(text)
    else
      warn(text, { finding.nextStep })
    end
  end
end

--- The answer of the server; nil and the error when there is none.
function M._answer(method, params)
  local is_done, answer, problem
  client.request(method, params or vim.NIL, function(err, result)
    is_done, answer, problem = true, result, err
  end)
  vim.wait(TIMEOUT_MS, function()
    return is_done
  end, 20)
  if not is_done then
    problem = { message = 'The server did not answer in time.' }
  end
  return answer, problem
end

--- The answer of the server; nil after a reported error.
function M._answer_or_report(method)
  local answer, problem = M._answer(method)
  if problem then
    report_error(problem.message, { ':Weft restart', ':Weft log' })
  end
  return type(answer) == 'table' and answer or nil
end

return M
