// Another extension in the window of a test, which calls the interface of VS Code: JSON by HTTP POST, one call a request.
//
// Owns the calls that no key and no menu makes: tools for chat models without a chat model, and what an extension reads of
// them. It listens on a free port of loopback, and writes FOLDER/PID.json with the port and the window's folders, where
// FOLDER is the environment variable WEFT_TEST_CALLS. conftest.py (`Window.call`) is the other side.

const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");
const vscode = require("vscode");

const calls = {
  /** The text of a tool's answer; `cancelled` if it was. The call `cancel` of the same key cancels it. */
  async invokeTool({ name, input, key = "" }) {
    const source = new vscode.CancellationTokenSource();
    running.set(key, source);
    try {
      const { content } = await vscode.lm.invokeTool(name, { input, toolInvocationToken: undefined }, source.token);
      return { text: content.map((part) => part.value).join("") };
    } catch (error) {
      return { error: String(error?.message ?? error), isCancelled: source.token.isCancellationRequested };
    }
  },
  cancel: ({ key }) => running.get(key)?.cancel(),
  /** The tools of an extension, as a chat model sees them. */
  tools: ({ prefix }) =>
    vscode.lm.tools
      .filter(({ name }) => name.startsWith(prefix))
      .map(({ name, description, inputSchema, tags }) => ({ name, description, inputSchema, tags })),
  /** Inserts text at the start of the active editor as it is, without automatic indentation. */
  insert: ({ text }) =>
    vscode.window.activeTextEditor.edit((change) => change.insert(new vscode.Position(0, 0), text)),
  /** The labels of all completions at the cursor. */
  async completions() {
    const { document, selection } = vscode.window.activeTextEditor;
    const call = "vscode.executeCompletionItemProvider";
    const { items } = await vscode.commands.executeCommand(call, document.uri, selection.active);
    return items.map(({ label }) => label.label ?? label);
  },
  /** `isAwaited` false: for a command that ends with an answer of the person. */
  command({ id, args = [], isAwaited = true }) {
    const result = vscode.commands.executeCommand(id, ...args);
    return isAwaited ? result : null;
  },
};

const running = new Map();

exports.activate = (context) => {
  const folder = process.env.WEFT_TEST_CALLS;
  if (!folder) return;
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (more) => (body += more));
    request.on("end", async () => {
      const { call, ...details } = JSON.parse(body);
      let answer;
      try {
        answer = { value: (await calls[call](details)) ?? null };
      } catch (error) {
        answer = { error: String(error?.stack ?? error) };
      }
      response.end(JSON.stringify(answer));
    });
  });
  const file = path.join(folder, `${process.pid}.json`);
  server.listen(0, "127.0.0.1", () => {
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    fs.writeFileSync(`${file}.new`, JSON.stringify({ port: server.address().port, folders }));
    fs.renameSync(`${file}.new`, file);
  });
  context.subscriptions.push({
    dispose() {
      server.close();
      fs.rmSync(file, { force: true });
    },
  });
};
