// `Weft: Set Up a Model` and `Weft: Explore`: run a command of the found server in a terminal.

import * as vscode from "vscode";
import { readHost } from "./host";
import { locate } from "./locate";

/** `weft setup`, which asks before it downloads. Rejects if the task cannot start. */
export async function setUpModel(context: vscode.ExtensionContext): Promise<void> {
  await runInTerminal(context, "Set Up a Model", ["setup"]);
}

/** `weft explore` of the active file's folder, with unsaved text where the server is shared. Rejects if the task cannot start. */
export async function explore(context: vscode.ExtensionContext): Promise<void> {
  const active = vscode.window.activeTextEditor?.document.uri;
  const folder = (active && vscode.workspace.getWorkspaceFolder(active)) ?? vscode.workspace.workspaceFolders?.[0];
  if (folder === undefined) {
    void vscode.window.showWarningMessage("Weft: No folder is open, so there is nothing to explore. Open a folder.");
    return;
  }
  const isShared = vscode.workspace.getConfiguration("weft").get<boolean>("server.shared", false);
  await runInTerminal(context, "Explore", ["explore", folder.uri.fsPath, ...(isShared ? ["--unsaved"] : [])]);
}

/** Runs a command in a terminal of its own; does nothing but show the next step if no server is found. */
async function runInTerminal(context: vscode.ExtensionContext, name: string, words: string[]): Promise<void> {
  const { found } = await locate(await readHost(context));
  if (found === undefined) {
    void vscode.window.showWarningMessage("Weft: No server was found. Run `Weft: Install Server` first.");
    return;
  }
  const [program = "", ...args] = found.command;
  // Not in the workspace: `python -m weft` would import modules from there.
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  const execution = new vscode.ProcessExecution(program, [...args, ...words], { cwd: context.globalStorageUri.fsPath });
  const task = new vscode.Task({ type: "weft" }, vscode.TaskScope.Global, name, "Weft", execution);
  // It stays open, with the measured speed or the address.
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: true, panel: vscode.TaskPanelKind.Dedicated };
  await vscode.tasks.executeTask(task);
}
