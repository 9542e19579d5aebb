// A language model of Weft's own for VS Code's chat, which refuses to ask a participant while it knows no model.
//
// It is no model of the world, and its name says so: it answers the last question from the repository. Owns nothing
// but that. Does nothing where the host takes no models.

import * as vscode from "vscode";
import type { Server } from "../server";
import { ServerAsker } from "./asker";

const VENDOR = "weft";
const MODEL = {
  id: "weft-repository",
  name: "Weft (answers about this repository)",
  family: "weft",
  version: "1",
  tooltip: "Questions are answered from this repository alone, as @weft does.",
  maxInputTokens: 8000,
  maxOutputTokens: 2000,
  // It calls no tools. But VS Code offers its agent mode, which the chat opens in, only models that say they do.
  capabilities: { toolCalling: true },
};

// Newer than the oldest VS Code that Weft runs in, so they are looked for.
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
  const asker = new ServerAsker(server);
  const registered = models.registerLanguageModelChatProvider(VENDOR, {
    provideLanguageModelChatInformation: () => [MODEL],
    async provideLanguageModelChatResponse(_model, messages, _options, progress, token) {
      const question = textOf(messages.filter(({ role }) => role === vscode.LanguageModelChatMessageRole.User).at(-1));
      const stopping = new AbortController();
      token.onCancellationRequested(() => stopping.abort());
      const say = (text: string): void => progress.report(new TextPart(text));
      const listening = {
        part({ text, restart }: { text?: string; restart?: true }): void {
          if (restart) say("\n\nThe model broke off. The answer begins anew:\n\n");
          if (text) say(text);
        },
        note(): void {},
      };
      await asker.ask({ question, remember: false }, listening, stopping.signal);
    },
    provideTokenCount: async (_model, text) => Math.ceil((typeof text === "string" ? text : textOf(text)).length / 4),
  });
  // VS Code asks for models only when they are wanted, and the first message would find none.
  void models.selectChatModels({ vendor: VENDOR }).then(undefined, () => undefined);
  return registered;
}

function textOf(message: Message | undefined): string {
  const parts = (message?.content ?? []) as { value?: unknown }[];
  return parts.map(({ value }) => (typeof value === "string" ? value : "")).join("");
}
