// Weft's tools for agents as tools of VS Code's chat models, such as those of Copilot's agent mode.
//
// package.json describes them; the server answers, with the unsaved text of this window. VS Code 1.95 and newer have
// the interface, so it is looked for at run time.

import * as vscode from "vscode";
import { describe, isCancelled, STOPPED } from "./errors";
import type { CallToolParams, CallToolResult } from "./protocol";
import type { Server } from "./server";

const PREFIX = "weft_";
const AGENT = "VS Code";

/** What is used of `vscode.lm`. */
export interface LanguageModelTools {
  registerTool(name: string, tool: Tool): vscode.Disposable;
}

interface Tool {
  invoke(options: { readonly input: Record<string, unknown> }, token: vscode.CancellationToken): Promise<unknown>;
}

/** How the two constructors of an answer are named in VS Code. */
interface Answers {
  readonly LanguageModelToolResult: new (parts: unknown[]) => unknown;
  readonly LanguageModelTextPart: new (text: string) => unknown;
}

/** Registers the tools that package.json lists; nothing where VS Code has no tools. */
export function registerTools(context: vscode.ExtensionContext, server: Server): void {
  const { lm } = vscode as unknown as { lm?: Partial<LanguageModelTools> };
  if (typeof lm?.registerTool !== "function") return;
  const answers = vscode as unknown as Answers;
  for (const name of toolNames(context.extension.packageJSON)) {
    const tool: Tool = {
      invoke: async ({ input }, token) => {
        const text = await call(server, name.slice(PREFIX.length), input, token);
        return new answers.LanguageModelToolResult([new answers.LanguageModelTextPart(text)]);
      },
    };
    context.subscriptions.push((lm as LanguageModelTools).registerTool(name, tool));
  }
}

/** The names of Weft's tools in a package.json. */
export function toolNames(packageJson: { contributes?: { languageModelTools?: { name: string }[] } }): string[] {
  const tools = packageJson.contributes?.languageModelTools ?? [];
  return tools.map(({ name }) => name).filter((name) => name.startsWith(PREFIX));
}

/** The text for the model: also why there is no answer, with the next step. */
async function call(
  server: Server,
  name: string,
  input: Record<string, unknown>,
  token: vscode.CancellationToken,
): Promise<string> {
  const params: CallToolParams = { name, arguments: input, agent: AGENT };
  try {
    const result = await server.request<CallToolResult | null>("weft/callTool", params, token);
    return result?.text ?? STOPPED;
  } catch (error) {
    if (isCancelled(error)) throw new vscode.CancellationError();
    return `Weft does not answer: ${describe(error)} Run the command "Weft: Doctor".`;
  }
}
