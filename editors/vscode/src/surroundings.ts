// What this machine, this window and its settings say about where a server may be, for `locate`.
//
// Owns the questions to the editor and the disk. Decides nothing.

import { accessSync, constants, mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Surroundings } from "./locate";
import { run } from "./run";

/** The Python extension may be busy for long; a completion is worth more than the better environment. */
const INTERPRETER_WITHIN_MS = 5_000;

export async function surroundings(context: vscode.ExtensionContext): Promise<Surroundings> {
  const settings = vscode.workspace.getConfiguration("weft");
  const cwd = context.globalStorageUri.fsPath;
  mkdirSync(cwd, { recursive: true });
  return {
    command: settings.get<string[]>("server.command", []),
    package: settings.get<string>("server.package", "").trim(),
    interpreter: await activeInterpreter(),
    ownEnvironment: ownEnvironment(context),
    searchPath: process.env.PATH ?? "",
    home: homedir(),
    isWindows: process.platform === "win32",
    isTrusted: vscode.workspace.isTrusted,
    folders: (vscode.workspace.workspaceFolders ?? []).map((folder) => folder.uri.fsPath),
    isProgram,
    realPath: (file) => {
      try {
        return realpathSync(file);
      } catch {
        return file;
      }
    },
    run: (command, withinMs) => run(command, { cwd, withinMs }),
  };
}

/** The virtual environment that `Weft: Install Server` makes. */
export function ownEnvironment(context: vscode.ExtensionContext): string {
  return path.join(context.globalStorageUri.fsPath, "server");
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** The little of the Python extension's interface that is needed. */
interface PythonExtension {
  readonly environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(environment: {
      readonly path: string;
    }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  };
}

async function activeInterpreter(): Promise<string | undefined> {
  const extension = vscode.extensions.getExtension<PythonExtension>("ms-python.python");
  if (extension === undefined) return undefined;
  const asked = async () => {
    const { environments } = await extension.activate();
    const active = environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
    if (active === undefined) return undefined;
    return (await environments?.resolveEnvironment(active))?.executable.uri?.fsPath;
  };
  const tooLate = new Promise<undefined>((resolve) => setTimeout(resolve, INTERPRETER_WITHIN_MS, undefined));
  return Promise.race([asked().catch(() => undefined), tooLate]);
}
