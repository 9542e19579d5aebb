// Requests of the chat over LSP: streamed answers that can be cancelled, and stored conversations.
//
// Owns the progress tokens. Knows no view.

import * as vscode from "vscode";
import type { AskParams, AskProgress, AskResult, ConversationsParams, ConversationsResult } from "../protocol";
import type { Server } from "../server";
import type { AnswerListener, ChatService } from "./session";

let nRequests = 0;

/** Shown in VS Code's own chat, which cannot take back text. */
export const RESTARTED = "\n\nThe model broke off. The answer starts again:\n\n";

export class ServerChat implements ChatService {
  constructor(private readonly server: Server) {}

  async ask(params: AskParams, listener: AnswerListener, signal: AbortSignal): Promise<AskResult | null> {
    await this.untilStarted(listener, signal);
    const partialResultToken = `weft-answer-${++nRequests}`;
    const workDoneToken = `weft-work-${nRequests}`;
    await openDocument(params.textDocument?.uri);
    const cancellation = new vscode.CancellationTokenSource();
    const cancel = (): void => cancellation.cancel();
    const progress = [
      this.server.onProgress(partialResultToken, (part) => listener.part(part as AskProgress)),
      this.server.onProgress(workDoneToken, (work) => {
        const note = (work as { message?: string }).message;
        if (note) listener.note(note);
      }),
    ];
    signal.addEventListener("abort", cancel);
    if (signal.aborted) cancel();
    try {
      const request = { ...params, partialResultToken, workDoneToken };
      return await this.server.request<AskResult | null>("weft/ask", request, cancellation.token);
    } finally {
      signal.removeEventListener("abort", cancel);
      cancellation.dispose();
      for (const each of progress) each.dispose();
    }
  }

  conversations(params: ConversationsParams): Promise<ConversationsResult> {
    return this.server.request<ConversationsResult>("weft/conversations", params);
  }

  /** Waits for a server that is starting, and reports its status. */
  private untilStarted(listener: AnswerListener, signal: AbortSignal): Promise<void> {
    const { server } = this;
    return new Promise((resolve) => {
      const check = (): void => {
        if (server.client === undefined && server.status.kind === "starting" && !signal.aborted) {
          listener.note(server.status.text);
        } else {
          subscription.dispose();
          signal.removeEventListener("abort", check);
          resolve();
        }
      };
      const subscription = server.onStatus(check);
      signal.addEventListener("abort", check);
      check();
    });
  }
}

/** The server reads selections of open documents only, and the attached one may have been closed. */
async function openDocument(uri: string | undefined): Promise<void> {
  if (uri === undefined) return;
  await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)).then(undefined, () => undefined);
}
