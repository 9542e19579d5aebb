// Getting a server onto this machine: the notice when there is none, installing one, choosing one.
//
// What it is installed from is the user's choice (`weft.server.package`), and never the other project called `weft`.
// Owns the extension's own environment. Knows nothing of how a server is started.

import { rm } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { findProgram, isOtherProject, type Located, otherProject } from "./locate";
import { type RunOptions, run } from "./run";
import type { Server } from "./server";
import { ownEnvironment, surroundings } from "./surroundings";

const INSTALLED_WITHIN_MS = 20 * 60_000;

/** One notice for a server that is not there, with the ways out of it. */
export async function tellMissing({ refused }: Located): Promise<void> {
  const [first] = refused;
  const tried = first === undefined ? "" : ` Tried ${first.source}: ${first.reason}`;
  const picked = await vscode.window.showWarningMessage(
    `Weft: no server was found.${tried}`,
    "Install",
    "Choose",
    "Guide",
  );
  if (picked === "Install") await vscode.commands.executeCommand("weft.install");
  if (picked === "Choose") await vscode.commands.executeCommand("weft.choose");
  if (picked === "Guide") await vscode.commands.executeCommand("weft.guide");
}

/** Have a person point at the program, and start it. */
export async function choose(): Promise<void> {
  const [file] = (await vscode.window.showOpenDialog({ title: "The program weft", openLabel: "Use" })) ?? [];
  if (file === undefined) return;
  // The new setting starts it.
  await vscode.workspace
    .getConfiguration("weft")
    .update("server.command", [file.fsPath], vscode.ConfigurationTarget.Global);
}

/** Make an environment of our own, and put the server in it. */
export async function install(context: vscode.ExtensionContext, server: Server, proposed?: string): Promise<void> {
  const what = await whatToInstall(proposed);
  if (what === undefined) return;
  const { isCancelled, problem } = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: "Installing Weft", cancellable: true },
    async (progress, token) => {
      const stop = new AbortController();
      token.onCancellationRequested(() => stop.abort());
      const options: RunOptions = {
        cwd: context.globalStorageUri.fsPath,
        withinMs: INSTALLED_WITHIN_MS,
        signal: stop.signal,
        onLine: (message) => {
          server.log.info(message);
          progress.report({ message: message.slice(0, 100) });
        },
      };
      const problem = await fill(context, what, options);
      return { isCancelled: token.isCancellationRequested, problem };
    },
  );
  if (problem === undefined) {
    await vscode.workspace.getConfiguration("weft").update("server.package", what, vscode.ConfigurationTarget.Global);
    await server.restart();
    return;
  }
  await rm(ownEnvironment(context), { recursive: true, force: true });
  if (isCancelled) return;
  const picked = await vscode.window.showErrorMessage(`Weft was not installed. ${problem}`, "Try Again", "Show Log");
  if (picked === "Try Again") await vscode.commands.executeCommand("weft.install", what);
  if (picked === "Show Log") server.log.show();
}

async function whatToInstall(proposed: string | undefined): Promise<string | undefined> {
  const known = vscode.workspace.getConfiguration("weft").get<string>("server.package", "");
  const what = await vscode.window.showInputBox({
    title: "What to install Weft from",
    prompt: "As pip takes it: the full path or address of a wheel or a source folder, or a requirement (weft-lsp).",
    value: proposed ?? known,
    ignoreFocusOut: true,
    validateInput: (text) => {
      if (isOtherProject(text)) return otherProject(text);
      return /^\s*(-|$)/.test(text) ? "A path, an address or a requirement." : undefined;
    },
  });
  return what?.trim();
}

/** What went wrong, with the next step; undefined when the server is there. */
async function fill(context: vscode.ExtensionContext, what: string, options: RunOptions): Promise<string | undefined> {
  const here = await surroundings(context);
  const environment = ownEnvironment(context);
  const python = path.join(environment, ...(here.isWindows ? ["Scripts", "python.exe"] : ["bin", "python"]));
  const uv = findProgram(here, "uv");
  const system = findProgram(here, "python3", "python");
  if (uv === undefined && system === undefined)
    return "Neither uv nor Python was found. Install Python 3.10 or newer, then try again.";
  await rm(environment, { recursive: true, force: true });
  const commands =
    uv !== undefined
      ? [
          [uv, "venv", environment],
          [uv, "pip", "install", "--python", python, what],
        ]
      : [
          [system ?? "", "-m", "venv", environment],
          [python, "-m", "pip", "install", "--disable-pip-version-check", "--progress-bar=off", what],
        ];
  for (const command of commands) {
    const { code, stderr, stdout } = await run(command, options);
    if (code === 0) continue;
    const said = (stderr.trim() || stdout.trim()).split("\n").at(-1) ?? "";
    return code === null && said === ""
      ? "It took too long. Look at the log."
      : `${said} Look at the log, and at weft.server.package.`;
  }
  return undefined;
}
