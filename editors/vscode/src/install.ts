// Installing the server, choosing an installed one, and the notification when none is found.
//
// The package is the user's choice (`weft.server.package`), and never the unrelated project `weft`. Owns the virtual
// environment of the extension. Does not start a server.

import { rm } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { findProgram, isOtherProject, type Located, otherProjectMessage } from "./locate";
import { type RunOptions, run } from "./run";
import type { Server } from "./server";
import { ownEnvironment, readHost } from "./host";

const INSTALL_TIMEOUT_MS = 20 * 60_000;

/** Shows one notification with the actions that provide a server. */
export async function showNotFound({ rejected }: Located): Promise<void> {
  const [first] = rejected;
  const tried = first === undefined ? "" : ` Tried ${first.source}: ${first.reason}`;
  const picked = await vscode.window.showWarningMessage(
    `Weft: No server was found.${tried} Install a server, or choose an installed one.`,
    "Install",
    "Choose",
    "Get Started",
  );
  if (picked === "Install") await vscode.commands.executeCommand("weft.install");
  if (picked === "Choose") await vscode.commands.executeCommand("weft.choose");
  if (picked === "Get Started") await vscode.commands.executeCommand("weft.guide");
}

/** Lets the user choose the program, and starts it. */
export async function choose(): Promise<void> {
  const [file] = (await vscode.window.showOpenDialog({ title: "Choose the Weft Executable", openLabel: "Choose" })) ?? [];
  if (file === undefined) return;
  // The change of the setting starts the server.
  await vscode.workspace
    .getConfiguration("weft")
    .update("server.command", [file.fsPath], vscode.ConfigurationTarget.Global);
}

/** Creates a virtual environment for the extension, and installs the server into it. */
export async function install(context: vscode.ExtensionContext, server: Server, proposed?: string): Promise<void> {
  const requirement = await askForPackage(proposed);
  if (requirement === undefined) return;
  const { isCancelled, problem } = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "Installing Weft", cancellable: true },
    async (progress, token) => {
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort());
      const options: RunOptions = {
        cwd: context.globalStorageUri.fsPath,
        withinMs: INSTALL_TIMEOUT_MS,
        signal: stop.signal,
        onLine: (message) => {
          server.log.info(message);
          progress.report({ message: message.slice(0, 100) });
        },
      };
      const problem = await installInto(context, requirement, options);
      return { isCancelled: token.isCancellationRequested, problem };
    },
  );
  if (problem === undefined) {
    await vscode.workspace.getConfiguration("weft").update("server.package", requirement, vscode.ConfigurationTarget.Global);
    await server.restart();
    return;
  }
  await rm(ownEnvironment(context), { recursive: true, force: true });
  if (isCancelled) return;
  const picked = await vscode.window.showErrorMessage(`Weft was not installed. ${problem}`, "Try Again", "Show Log");
  if (picked === "Try Again") await vscode.commands.executeCommand("weft.install", requirement);
  if (picked === "Show Log") server.log.show();
}

async function askForPackage(proposed: string | undefined): Promise<string | undefined> {
  const known = vscode.workspace.getConfiguration("weft").get<string>("server.package", "");
  const requirement = await vscode.window.showInputBox({
    title: "Install the Weft Server From",
    prompt: "A pip requirement (weft-lsp), or the full path or URL of a wheel or a source folder.",
    value: proposed ?? known,
    ignoreFocusOut: true,
    validateInput: (text) => {
      if (isOtherProject(text)) return otherProjectMessage(text);
      return /^\s*(-|$)/.test(text) ? "Enter a pip requirement, a path or a URL." : undefined;
    },
  });
  return requirement?.trim();
}

/** The error with the next step; undefined after success. */
async function installInto(context: vscode.ExtensionContext, requirement: string, options: RunOptions): Promise<string | undefined> {
  const host = await readHost(context);
  const environment = ownEnvironment(context);
  const python = path.join(environment, ...(host.isWindows ? ["Scripts", "python.exe"] : ["bin", "python"]));
  const uv = findProgram(host, "uv");
  const system = findProgram(host, "python3", "python");
  if (uv === undefined && system === undefined)
    return "Neither uv nor Python was found on the PATH. Install Python 3.10 or newer, then try again.";
  await rm(environment, { recursive: true, force: true });
  const commands =
    uv !== undefined
      ? [
          [uv, "venv", environment],
          [uv, "pip", "install", "--python", python, requirement],
        ]
      : [
          [system ?? "", "-m", "venv", environment],
          [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off", requirement],
        ];
  for (const command of commands) {
    const { code, stderr, stdout } = await run(command, options);
    if (code === 0) continue;
    const lastLine = (stderr.trim() || stdout.trim()).split("\n").at(-1) ?? "";
    return code === null && lastLine === ""
      ? "The installation timed out. See the log."
      : `${lastLine} See the log, and check the setting weft.server.package.`;
  }
  return undefined;
}
