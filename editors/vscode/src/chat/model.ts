// A language model provider for VS Code's own chat, which calls no participant while there is no model.
//
// The model answers the last question from the repository alone. Registers nothing where VS Code has no API for it.

import * as vscode from "vscode";
import type { Server } from "../server";
import { RESTARTED, ServerChat } from "./service";

const VENDOR = "weft";
const MODEL = {
  id: "weft-repository",
  name: "Weft (answers about this repository)",
  family: "weft",
  version: "1",
  tooltip: "Answers questions about this repository only, as @weft does.",
  maxInputTokens: 8000,
  maxOutputTokens: 2000,
  // It calls no tools, but agent mode, the default of the chat, lists only models that declare tool calling.
  capabilities: { toolCalling: true },
};

// Newer than the oldest supported VS Code, so their existence is checked.
interface LanguageModels {
  registerLanguageModelChatProvider?(vendor: string, provider: Provider): vscode.Disposable;
}
interface Provider {
  provideLanguageModelChatInformation(): (typeof MODEL)[];
  provideLanguageModelChatResponse(
    model: unknown,
    messages: readonly Message[],
    options: unknown,
    progress: vscode.Progress<unknown>,
    token: vscode.CancellationToken,
  ): Promise<void>;
  provideTokenCount(model: unknown, text: string | Message): Promise<number>;
}
interface Message {
  role: number;
  content: readonly unknown[];
}

export function registerModel(server: Server): vscode.Disposable {
  const models = vscode.lm as LanguageModels & typeof vscode.lm;
  const TextPart = (vscode as unknown as { LanguageModelTextPart?: new (text: string) => unknown }).LanguageModelTextPart;
  if (!models?.registerLanguageModelChatProvider || !TextPart) return new vscode.Disposable(() => {});
  const chat = new ServerChat(server);
  const registered = models.registerLanguageModelChatProvider(VENDOR, {
    provideLanguageModelChatInformation: () => [MODEL],
    async provideLanguageModelChatResponse(_model, messages, _options, progress, token) {
      const question = textOf(messages.filter(({ role }) => role === vscode.LanguageModelChatMessageRole.User).at(-1));
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      const write = (text: string): void => progress.report(new TextPart(text));
      const listener = {
        part({ text, restart }: { text?: string; restart?: true }): void {
          if (restart) write(RESTARTED);
          if (text) write(text);
        },
        note(): void {},
      };
      await chat.ask({ question, remember: false }, listener, abort.signal);
    },
    provideTokenCount: async (_model, text) => Math.ceil((typeof text === "string" ? text : textOf(text)).length / 4),
  });
  // VS Code resolves models lazily; without this the first message finds none.
  void models.selectChatModels({ vendor: VENDOR }).then(undefined, () => undefined);
  return registered;
}

function textOf(message: Message | undefined): string {
  const parts = (message?.content ?? []) as { value?: unknown }[];
  return parts.map(({ value }) => (typeof value === "string" ? value : "")).join("");
}
