// Weft's tools for agents as tools of VS Code's chat models, such as those of Copilot's agent mode.
//
// package.json describes them, and lists them where `weft.agents.tools` is `chat`; the server answers, with the unsaved
// text of this window. VS Code 1.95 and newer have the interface, so it is looked for at run time.

import * as vscode from "vscode";
import { describe, isCancelled, STOPPED } from "./errors";
import type { CallToolParams, CallToolResult } from "./protocol";
import type { Server } from "./server";

const PREFIX = "weft_";
const AGENT = "VS Code";
/** In package.json, of a tool that stores or deletes something. */
const WRITES = "writes";
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
  readonly tags: readonly string[];
}

/** Registers the tools that package.json describes; nothing where VS Code has no tools. */
export function registerTools(context: vscode.ExtensionContext, server: Server): void {
  const { lm } = vscode as unknown as { lm?: Partial<LanguageModelTools> };
  if (typeof lm?.registerTool !== "function") return;
  const answers = vscode as unknown as Answers;
  for (const described of context.extension.packageJSON.contributes.languageModelTools as Described[]) {
    const tool: Tool = {
      prepareInvocation: ({ input }) => prepare(described, input),
      invoke: async ({ input }, token) => {
        const text = await call(server, described.name.slice(PREFIX.length), input, token);
        return new answers.LanguageModelToolResult([new answers.LanguageModelTextPart(text)]);
      },
    };
    context.subscriptions.push((lm as LanguageModelTools).registerTool(described.name, tool));
  }
}

/** Only what is stored or deleted is asked about: notes reach later conversations. */
function prepare({ displayName, tags }: Described, input: Input): Prepared {
  const subject = subjectOf(input);
  const invocationMessage = literal(`Weft: ${displayName}${subject && `: ${subject}`}`);
  if (!tags.includes(WRITES)) return { invocationMessage };
  const change =
    typeof input.note === "number"
      ? `Weft deletes note ${input.note} on this workspace.`
      : `Weft stores this note for later conversations on this workspace:\n\n${textOf(input.text)}`;
  return { invocationMessage, confirmationMessages: { title: `${displayName}?`, message: literal(change) } };
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
    return result?.text ?? STOPPED;
  } catch (error) {
    if (token.isCancellationRequested || isCancelled(error)) throw new vscode.CancellationError();
    return `Weft does not answer: ${describe(error)} Run the command "Weft: Doctor".`;
  }
}
