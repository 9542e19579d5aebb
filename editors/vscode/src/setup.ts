// Commands of the found server in a terminal, and `Weft: Set Up a Model`, which is one.

import * as vscode from "vscode";
import { readHost } from "./host";
import { showNotFound } from "./install";
import { locate } from "./locate";

/** `weft setup`, which asks before it downloads. Rejects if the task cannot start. */
export async function setUpModel(context: vscode.ExtensionContext): Promise<void> {
  await runInTerminal(context, "Set Up a Model", ["setup"]);
}

/**
 * Runs a command in a terminal of its own. Without a server it shows the next step instead, and returns undefined. Rejects
 * if the task cannot start.
 */
export async function runInTerminal(
  context: vscode.ExtensionContext,
  name: string,
  words: string[],
): Promise<vscode.TaskExecution | undefined> {
  const located = await locate(await readHost(context));
  const { found } = located;
  if (found === undefined) {
    void showNotFound(located);
    return undefined;
  }
  const [program = "", ...args] = found.command;
  // Not in the workspace: `python -m weft` would import modules from there.
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  const execution = new vscode.ProcessExecution(program, [...args, ...words], { cwd: context.globalStorageUri.fsPath });
  const task = new vscode.Task({ type: "weft" }, vscode.TaskScope.Global, name, "Weft", execution);
  // It stays open, with the measured speed or the address.
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: true, panel: vscode.TaskPanelKind.Dedicated };
  return vscode.tasks.executeTask(task);
}
