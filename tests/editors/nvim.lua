-- The way of a loop in Neovim without any plugin: diagnostics, hover, "Offload to GPU" applied to two files, a rename that
-- nobody offers, a page of rewrite rules written and used, an orderly end. Run as
--   WARPWRIGHT=program PROJECT=folder nvim --headless -u NONE -n -c 'luafile nvim.lua'
-- Waits for conditions, never for a time. Written for Neovim 0.7 and later.

local PATIENCE = 60000 -- milliseconds for one condition on a slow, busy machine

local function say(text)
  io.stdout:write('nvim: ' .. text .. '\n')
end

local function fail(text)
  io.stdout:write('nvim: FAILED: ' .. text .. '\n')
  vim.cmd('cquit 1')
end

local function wait(what, condition)
  if not vim.wait(PATIENCE, condition, 10) then
    error('waited in vain for: ' .. what)
  end
end

local function line_of(buffer, text)
  for i, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
    local column = line:find(text, 1, true)
    if column then
      return i - 1, column - 1
    end
  end
  error('no line with ' .. text)
end

local function content(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n')
end

local toasts = {}

local function story()
  local program, project = vim.env.WARPWRIGHT, vim.env.PROJECT
  -- Older versions do not show documents that servers name by themselves: what a user of these puts into the configuration.
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.window = vim.tbl_extend('force', capabilities.window or {}, { showDocument = { support = true } })
  local client_id = vim.lsp.start_client({
    cmd = { program, 'lsp' },
    name = 'warpwright',
    root_dir = project,
    capabilities = capabilities,
    handlers = {
      ['window/showDocument'] = function(_, shown)
        vim.cmd('split ' .. vim.fn.fnameescape(vim.uri_to_fname(shown.uri)))
        return { success = true }
      end,
      ['window/showMessage'] = function(_, message)
        toasts[#toasts + 1] = message.message
        return vim.NIL
      end,
    },
  })
  if not client_id then
    error('the client did not start')
  end
  vim.cmd('edit ' .. vim.fn.fnameescape(project .. '/loops.c'))
  local buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(buffer, client_id)
  wait('the server is initialized', function()
    local client = vim.lsp.get_client_by_id(client_id)
    return client ~= nil and client.initialized
  end)
  local client = vim.lsp.get_client_by_id(client_id)

  local function request(method, params)
    local answer, problem = client.request_sync(method, params, PATIENCE, buffer)
    if not answer then
      error(method .. ' was not answered: ' .. tostring(problem))
    end
    return answer
  end

  local function message_on(text)
    local line = line_of(buffer, text)
    for _, d in ipairs(vim.diagnostic.get(buffer)) do
      if d.lnum == line and d.source == 'warpwright' then
        return d.message, d.severity
      end
    end
  end

  wait('a diagnostic on the sequential loop', function()
    return message_on('for (int i = 1;') ~= nil
  end)
  local message, severity = message_on('for (int i = 1;')
  assert(severity == vim.diagnostic.severity.INFO, 'a sequential loop is information, not ' .. tostring(severity))
  say('the sequential loop: ' .. message:gsub('\n.*', ''))
  wait('a diagnostic on the independent loop', function()
    return message_on('for (int i = 0;') ~= nil
  end)
  message, severity = message_on('for (int i = 0;')
  assert(severity == vim.diagnostic.severity.HINT, 'an independent loop is a hint, not ' .. tostring(severity))
  say('the independent loop: ' .. message:gsub('\n.*', ''))

  local line, column = line_of(buffer, 'for (int i = 0;')
  local document = { uri = vim.uri_from_bufnr(buffer) }
  local at = { textDocument = document, position = { line = line, character = column } }
  local hover = request('textDocument/hover', at)
  assert(hover.result and hover.result.contents, 'no hover on the loop')
  local words = vim.lsp.util.convert_input_to_markdown_lines(hover.result.contents)
  assert(table.concat(words, '\n'):lower():find('independent') or table.concat(words, '\n'):find('GPU'), 'the hover says neither "independent" nor "GPU": ' .. table.concat(words, '\n'))
  say('the hover has ' .. #words .. ' lines')

  -- A result is a read-only document that closes without asking, and no message.
  local verified = request('workspace/executeCommand', {
    command = 'warpwright.verify',
    arguments = { { uri = document.uri, position = at.position } },
  })
  assert(not verified.err, 'verifying was refused: ' .. vim.inspect(verified.err))
  wait('the result of verifying', function()
    return vim.api.nvim_buf_get_name(0):find('verify%.md$') ~= nil
  end)
  local result = content(0)
  assert(result:find('# Verification of `saxpy`', 1, true) and result:find('Same results', 1, true), result)
  assert(result:find('| input ', 1, true) and result:find('█', 1, true), result)
  assert(vim.bo.readonly and not vim.bo.modified, 'the result can be written')
  say('the result has ' .. vim.api.nvim_buf_line_count(0) .. ' lines: ' .. vim.fn.getline(3))
  vim.cmd('close')
  assert(vim.api.nvim_get_current_buf() == buffer, 'closing the result left the file')
  assert(#toasts == 0, 'a message came: ' .. vim.inspect(toasts))

  local actions = request('textDocument/codeAction', {
    textDocument = document,
    range = { start = at.position, ['end'] = at.position },
    context = { diagnostics = {} },
  }).result or {}
  assert(actions[1].title:find('^Offload to'), 'the light bulb begins with ' .. actions[1].title)
  assert(actions[#actions].title:find('^Ignore'), 'the light bulb ends with ' .. actions[#actions].title)
  say('the light bulb: ' .. actions[1].title .. ' first, ' .. actions[#actions].title .. ' last')
  local outline = request('textDocument/documentSymbol', { textDocument = document }).result
  assert(#outline == 3 and outline[1].name == 'saxpy', 'the outline is ' .. vim.inspect(outline))
  assert(outline[1].children[1].detail == 'parallel' and outline[3].children[1].detail == 'sequential: a', vim.inspect(outline))
  say('the outline: ' .. outline[3].name .. ' has ' .. outline[3].children[1].name .. ', ' .. outline[3].children[1].detail)
  local offload
  for _, action in ipairs(actions) do
    if action.title:find('Offload to') then
      offload = offload or action
    end
  end
  assert(offload, 'no action "Offload to GPU" among ' .. #actions)
  local before = content(buffer)
  if not offload.edit and not offload.command then
    offload = assert(request('codeAction/resolve', offload).result, 'the action was not resolved')
  end
  if offload.edit then
    vim.lsp.util.apply_workspace_edit(offload.edit, client.offset_encoding)
  end
  if offload.command then
    -- A client that cannot create files in an edit gets a command; the server then makes the file itself.
    local answer = request('workspace/executeCommand', offload.command)
    assert(not answer.err, 'offloading was refused: ' .. vim.inspect(answer.err))
  end
  wait('the change of the C file', function()
    return content(buffer) ~= before
  end)
  vim.cmd('silent wall')
  local kernels = vim.fn.glob(project .. '/*.cu', false, true)
  assert(#kernels == 1, 'one .cu file was expected, there are ' .. #kernels)
  local kernel = vim.fn.bufadd(kernels[1])
  vim.fn.bufload(kernel)
  assert(content(kernel):find('__global__', 1, true), 'the .cu file holds no kernel')
  say('the action changed loops.c and made ' .. vim.fn.fnamemodify(vim.api.nvim_buf_get_name(kernel), ':t'))

  -- Renaming is clangd's trade: it is not advertised, and asking all the same gets an answer, not a crash.
  local offered = client.server_capabilities or client.resolved_capabilities
  assert(not offered.renameProvider, 'renaming is advertised')
  local rename = request('textDocument/rename', vim.tbl_extend('force', at, { newName = 'other' }))
  assert(rename.err or rename.result == nil or rename.result == vim.NIL, 'something was renamed')
  say('renaming nothing changes nothing')

  wait('diagnostics of what was written', function()
    return message_on('for (int i = 1;') ~= nil
  end)

  -- A page of rewrite rules: what is wrong is said while it is written, and once it is saved it is used.
  local page_lines = {
    '# Write squares as products', '', 'A call of `pow` with the exponent 2 takes longer than a product.', '',
    'Trust: reassociates', '', '```rules squares BottomUp', 'square: c`pow($x, 2)` [pur($x), type($x, double)] -> c`$x * $x`', '```', '',
    '```c example', '#include <math.h>', 'double f(double x) { return pow(x, 2); }', '```',
    '```c result', '#include <math.h>', 'double f(double x) { return x * x; }', '```', '',
    '```c refused', '#include <math.h>', 'double f(double x) { return pow(x++, 2); }', '```',
  }
  vim.fn.mkdir(project .. '/.warpwright/rules', 'p')
  vim.cmd('edit ' .. vim.fn.fnameescape(project .. '/.warpwright/rules/squares.md'))
  local page = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(page, 0, -1, false, page_lines)
  vim.lsp.buf_attach_client(page, client_id)
  local function findings()
    return vim.diagnostic.get(page)
  end
  wait('what is wrong with the page', function()
    return #findings() > 0
  end)
  assert(findings()[1].lnum == 7 and findings()[1].message:find('`pure`', 1, true), vim.inspect(findings()))
  say('the wrong page: ' .. findings()[1].message)
  vim.api.nvim_buf_set_lines(page, 7, 8, false, { (page_lines[8]:gsub('pur%(', 'pure(')) })
  wait('a page without findings', function()
    return #findings() == 0
  end)
  vim.cmd('silent write')
  vim.cmd('edit ' .. vim.fn.fnameescape(project .. '/norm.c'))
  buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, {
    '#include <math.h>', '', 'double norm(double x, double y) {', '    return sqrt(pow(x, 2) + pow(y, 2));', '}',
  })
  vim.lsp.buf_attach_client(buffer, client_id)
  local place = { line = 3, character = 16 }
  local squares
  wait('the action of the page', function()
    local offered = request('textDocument/codeAction', {
      textDocument = { uri = vim.uri_from_bufnr(buffer) },
      range = { start = place, ['end'] = place },
      context = { diagnostics = {} },
    }).result or {}
    for _, action in ipairs(offered) do
      if action.title:find('Write squares as products', 1, true) then
        squares = action
      end
    end
    return squares ~= nil
  end)
  say('the page is used: ' .. squares.title)
  if squares.data and not squares.command then
    squares = assert(request('codeAction/resolve', squares).result, 'the action was not resolved')
    vim.lsp.util.apply_workspace_edit(squares.edit, client.offset_encoding)
  else
    local answer = request('workspace/executeCommand', squares.command)
    assert(not answer.err, 'the rules were refused: ' .. vim.inspect(answer.err))
  end
  wait('the rewritten line', function()
    return content(buffer):find('sqrt(x * x + y * y)', 1, true) ~= nil
  end)
  say('the rules were applied')
  vim.cmd('silent wall')
  vim.lsp.stop_client(client_id)
  wait('the server has ended', function()
    return vim.lsp.client_is_stopped(client_id)
  end)
  say('the server ended when it was asked to')
end

local ok, problem = pcall(story)
if ok then
  vim.cmd('qall!')
else
  fail(tostring(problem))
end
