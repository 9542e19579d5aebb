// Weft's tools as MCP servers of VS Code, one for each folder, where `weft.agents.tools` is `mcp`.
//
// VS Code starts `weft mcp` of the server that the extension found, outside of the workspace. VS Code 1.101 and newer have
// the interface, so it is looked for at run time. Owns the definitions; the server has the tools.

import * as vscode from "vscode";
import { readHost } from "./host";
import { showNotFound } from "./install";
import { locate } from "./locate";
import { TOOLS_SETTING } from "./tools";

/** In package.json. */
const PROVIDER = "weft";

/** What is used of VS Code's `McpStdioServerDefinition`. */
interface Definition {
  readonly label: string;
  command: string;
  args: string[];
  readonly env: Record<string, string | number | null>;
  readonly version?: string;
  cwd?: vscode.Uri;
}

type NewDefinition = new (
  label: string,
  command: string,
  args: string[],
  env: Definition["env"],
  version: string,
) => Definition;

interface Provider {
  readonly onDidChangeMcpServerDefinitions: vscode.Event<void>;
  provideMcpServerDefinitions(): Definition[];
  resolveMcpServerDefinition(definition: Definition): Promise<Definition>;
}

interface Interface {
  registerMcpServerDefinitionProvider(id: string, provider: Provider): vscode.Disposable;
}

/** Registers the provider; nothing where VS Code has no MCP servers. */
export function registerMcpServers(context: vscode.ExtensionContext): void {
  const { lm, McpStdioServerDefinition } = vscode as unknown as {
    lm?: Partial<Interface>;
    McpStdioServerDefinition: NewDefinition;
  };
  if (typeof lm?.registerMcpServerDefinitionProvider !== "function") return;
  const { version } = context.extension.packageJSON;
  const changes = new vscode.EventEmitter<void>();
  // The search for the server runs programs, so it waits until VS Code starts a definition.
  const define = (label: string, folder: string) =>
    new McpStdioServerDefinition(label, "weft", ["mcp", folder], {}, version);
  const provider: Provider = {
    onDidChangeMcpServerDefinitions: changes.event,
    provideMcpServerDefinitions: () => (isOffered() ? labelled().map(([label, folder]) => define(label, folder)) : []),
    resolveMcpServerDefinition: async ({ label, args }) => {
      const located = await locate(await readHost(context));
      if (located.found === undefined) {
        void showNotFound(located);
        throw new Error("No Weft server was found. Run `Weft: Install Server`, then start this one again.");
      }
      const [program = "", ...before] = located.found.command;
      const resolved = new McpStdioServerDefinition(label, program, [...before, ...args.slice(-2)], {}, version);
      // Outside the workspace: Python would import modules from its working directory.
      resolved.cwd = context.globalStorageUri;
      return resolved;
    },
  };
  context.subscriptions.push(
    changes,
    (lm as Interface).registerMcpServerDefinitionProvider(PROVIDER, provider),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changes.fire()),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration(TOOLS_SETTING) && changes.fire()),
  );
}

function isOffered(): boolean {
  return vscode.workspace.getConfiguration().get<string>(TOOLS_SETTING) === "mcp";
}

/** A label for each folder on disk: VS Code finds a definition by its label, so no two are equal. */
function labelled(): [string, string][] {
  const folders = (vscode.workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  if (folders.length === 1) return folders.map(({ uri }) => ["Weft", uri.fsPath]);
  const isUnique = (name: string) => folders.filter((folder) => folder.name === name).length === 1;
  return folders.map(({ name, uri }) => [`Weft: ${isUnique(name) ? name : uri.fsPath}`, uri.fsPath]);
}
