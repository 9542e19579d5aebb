// Reads the settings, the workspace and the environment that server discovery (`locate`) needs.

import { accessSync, constants, mkdirSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";
import type { Host } from "./locate";
import { run } from "./run";

/** The Python extension may be slow to activate; a late start of Weft would be worse than another interpreter. */
const INTERPRETER_TIMEOUT_MS = 5_000;

export async function readHost(context: vscode.ExtensionContext): Promise<Host> {
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

/** The virtual environment that `Weft: Install Server` creates. */
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

/** The part of the Python extension's API that Weft uses. */
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
  const query = async () => {
    const { environments } = await extension.activate();
    const active = environments?.getActiveEnvironmentPath(vscode.workspace.workspaceFolders?.[0]?.uri);
    if (active === undefined) return undefined;
    return (await environments?.resolveEnvironment(active))?.executable.uri?.fsPath;
  };
  const timeout = new Promise<undefined>((resolve) => setTimeout(resolve, INTERPRETER_TIMEOUT_MS, undefined));
  return Promise.race([query().catch(() => undefined), timeout]);
}
