// `Weft: Set Up a Model`: runs `weft setup` of the found server in a terminal, where it asks before it downloads.

import * as vscode from "vscode";
import { readHost } from "./host";
import { locate } from "./locate";

/** Rejects if the task cannot start; does nothing but show the next step if no server is found. */
export async function setUpModel(context: vscode.ExtensionContext): Promise<void> {
  const { found } = await locate(await readHost(context));
  if (found === undefined) {
    void vscode.window.showWarningMessage("Weft: No server was found. Run `Weft: Install Server` first.");
    return;
  }
  const [program = "", ...args] = found.command;
  // Not in the workspace: `python -m weft` would import modules from there.
  await vscode.workspace.fs.createDirectory(context.globalStorageUri);
  const execution = new vscode.ProcessExecution(program, [...args, "setup"], { cwd: context.globalStorageUri.fsPath });
  const task = new vscode.Task({ type: "weft" }, vscode.TaskScope.Global, "Set Up a Model", "Weft", execution);
  // A terminal of its own, which stays open with the measured speed.
  task.presentationOptions = { reveal: vscode.TaskRevealKind.Always, focus: true, panel: vscode.TaskPanelKind.Dedicated };
  await vscode.tasks.executeTask(task);
}
