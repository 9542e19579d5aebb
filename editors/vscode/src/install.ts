// Installing the server, choosing an installed one, and the notification when none is found.
//
// Installs the server of the extension's own version, or the package of `weft.server.package`; never the unrelated
// project `weft`. Owns the virtual environment of the extension.

import { rm } from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { type Found, findProgram, isOtherProject, type Located, otherProjectMessage, packageToInstall } from "./locate";
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

/** Shows that the server which the extension installed is older than the extension. */
export async function showOutdated({ version }: Found, extensionVersion: string): Promise<void> {
  const picked = await vscode.window.showInformationMessage(
    `Weft: The installed server is version ${version}, the extension is version ${extensionVersion}.`,
    "Update Server",
  );
  if (picked === "Update Server") await vscode.commands.executeCommand("weft.install");
}

/** Creates a virtual environment for the extension, installs a server into it, and starts it. */
export async function install(context: vscode.ExtensionContext, server: Server, requirement?: string): Promise<void> {
  const chosen = requirement ?? packageToInstall(packageSetting(), context.extension.packageJSON.version);
  if (isOtherProject(chosen)) {
    void vscode.window.showErrorMessage(`Weft: ${otherProjectMessage(chosen)}`);
    return;
  }
  await server.stop(); // on Windows, the files of a running program cannot be replaced
  const { isCancelled, problem } = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title: `Installing ${chosen}`, cancellable: true },
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
      const problem = await installInto(context, chosen, options);
      return { isCancelled: token.isCancellationRequested, problem };
    },
  );
  if (problem === undefined) {
    // Only a choice is remembered: without the setting, an updated extension installs its own version again.
    if (requirement !== undefined)
      await vscode.workspace.getConfiguration("weft").update("server.package", chosen, vscode.ConfigurationTarget.Global);
    await server.restart();
    return;
  }
  await rm(ownEnvironment(context), { recursive: true, force: true });
  if (isCancelled) return;
  await showFailure(server, chosen, problem, requirement);
}

async function showFailure(server: Server, chosen: string, problem: string, requirement?: string): Promise<void> {
  const picked = await vscode.window.showErrorMessage(
    `${chosen} was not installed. ${problem}`,
    "Try Again",
    "Other Package",
    "Show Log",
  );
  if (picked === "Try Again") await vscode.commands.executeCommand("weft.install", requirement);
  if (picked === "Other Package") {
    const other = await askForPackage(chosen);
    if (other !== undefined) await vscode.commands.executeCommand("weft.install", other);
  }
  if (picked === "Show Log") server.log.show();
}

function packageSetting(): string {
  return vscode.workspace.getConfiguration("weft").get<string>("server.package", "");
}

async function askForPackage(proposed: string): Promise<string | undefined> {
  const requirement = await vscode.window.showInputBox({
    title: "Install the Weft Server From",
    prompt: "A pip requirement (weft-lsp), or the full path or URL of a wheel or a source folder.",
    value: proposed,
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
      ? "The installation timed out. The log has the details."
      : `${lastLine} The log has the details.`;
  }
  return undefined;
}
