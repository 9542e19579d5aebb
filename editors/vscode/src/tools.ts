// Weft's tools for agents as tools of VS Code's chat models, such as those of Copilot's agent mode.
//
// package.json describes them, and lists them where `weft.agents.tools` is `chat`; they are registered only there, because
// other extensions see tools that are not listed. The server answers, with the unsaved text of this window. VS Code 1.95
// and newer have the interface, so it is looked for at run time.

import * as vscode from "vscode";
import { describe, isCancelled, STOPPED } from "./errors";
import type { CallToolParams, CallToolResult } from "./protocol";
import type { Server } from "./server";

export const TOOLS_SETTING = "weft.agents.tools";
const PREFIX = "weft_";
const AGENT = "VS Code";
const NO_FOLDER = "No folder is open in VS Code, so that only open files are indexed. Ask the person to open a folder.";
const MAX_SHOWN_CHARACTERS = 80;

type Input = Readonly<Record<string, unknown>>;

/** What is used of `vscode.lm`. */
interface LanguageModelTools {
  registerTool(name: string, tool: Tool): vscode.Disposable;
}

interface Tool {
  prepareInvocation(options: { readonly input: Input }): Prepared;
  invoke(options: { readonly input: Input }, token: vscode.CancellationToken): Promise<unknown>;
}

/** What the chat shows of a call, and what it asks before. */
interface Prepared {
  readonly invocationMessage: vscode.MarkdownString;
  readonly confirmationMessages?: { readonly title: string; readonly message: vscode.MarkdownString };
}

/** How the two constructors of an answer are named in VS Code. */
interface Answers {
  readonly LanguageModelToolResult: new (parts: unknown[]) => unknown;
  readonly LanguageModelTextPart: new (text: string) => unknown;
}

/** A tool in package.json. */
interface Described {
  readonly name: string;
  readonly displayName: string;
}

/** Registers the tools that package.json describes while the setting says so; nothing where VS Code has no tools. */
export function registerTools(context: vscode.ExtensionContext, server: Server): void {
  const { lm } = vscode as unknown as { lm?: Partial<LanguageModelTools> };
  if (typeof lm?.registerTool !== "function") return;
  const all: Described[] = context.extension.packageJSON.contributes.languageModelTools;
  let registered: vscode.Disposable[] = [];
  const remove = () => {
    for (const each of registered) each.dispose();
    registered = [];
  };
  const update = () => {
    const isWanted = vscode.workspace.getConfiguration().get<string>(TOOLS_SETTING) === "chat";
    if (!isWanted) remove();
    else if (registered.length === 0) {
      registered = all.map((each) => (lm as LanguageModelTools).registerTool(each.name, toolOf(server, each)));
    }
  };
  update();
  context.subscriptions.push(
    { dispose: remove },
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration(TOOLS_SETTING) && update()),
  );
}

function toolOf(server: Server, described: Described): Tool {
  const name = described.name.slice(PREFIX.length);
  const { LanguageModelToolResult, LanguageModelTextPart } = vscode as unknown as Answers;
  return {
    prepareInvocation: ({ input }) => prepare(name, described.displayName, input),
    invoke: async ({ input }, token) =>
      new LanguageModelToolResult([new LanguageModelTextPart(await call(server, name, input, token))]),
  };
}

/** Only what is stored or deleted is asked about: notes reach later conversations. */
function prepare(name: string, displayName: string, input: Input): Prepared {
  const subject = subjectOf(input);
  const invocationMessage = literal(`Weft: ${displayName}${subject && `: ${subject}`}`);
  const change = changeOf(name, input);
  if (change === undefined) return { invocationMessage };
  return { invocationMessage, confirmationMessages: { title: `${displayName}?`, message: literal(change) } };
}

/** What a call stores or deletes; undefined for one that only reads, and for a wrong one, which the server refuses. */
function changeOf(name: string, { text, topic, note }: Input): string | undefined {
  if (name === "forget" && note !== undefined) return `Weft deletes note ${String(note)} on this workspace.`;
  if (name !== "remember" || textOf(text).trim() === "") return undefined;
  const stored = textOf(topic) ? `${textOf(topic)}: ${textOf(text)}` : textOf(text);
  return `Weft stores this note for later conversations on this workspace:\n\n${stored}`;
}

/** What a call is about, in a few words: the symbol, the question, or the place. */
function subjectOf({ symbol, query, question, topic, path, line }: Input): string {
  const place = textOf(path) && `${textOf(path)}${typeof line === "number" ? `:${line}` : ""}`;
  const words = [symbol, query, question, topic, place].map(textOf).find((text) => text !== "") ?? "";
  const [shown = ""] = words.trim().split("\n");
  return shown.length > MAX_SHOWN_CHARACTERS ? `${shown.slice(0, MAX_SHOWN_CHARACTERS)}…` : shown;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Text of a model, which is not Markdown. */
function literal(text: string): vscode.MarkdownString {
  return new vscode.MarkdownString().appendText(text);
}

/** The text for the model: also why there is no answer, with the next step. */
async function call(server: Server, name: string, input: Input, token: vscode.CancellationToken): Promise<string> {
  const params: CallToolParams = { name, arguments: input, agent: AGENT };
  try {
    await server.whenStarted(token);
    const result = await server.request<CallToolResult | null>("weft/callTool", params, token);
    const text = result?.text ?? STOPPED;
    return vscode.workspace.workspaceFolders?.length ? text : `${text}\n${NO_FOLDER}`;
  } catch (error) {
    if (token.isCancellationRequested || isCancelled(error)) throw new vscode.CancellationError();
    return `Weft does not answer: ${describe(error)} Run the command "Weft: Doctor".`;
  }
}
