// The server as a conversation needs it: questions that are streamed and can be stopped, and the history.
//
// Owns the tokens of the streams. Knows neither what is asked nor who shows it.

import * as vscode from "vscode";
import type { AskParams, AskProgress, AskResult, ConversationsParams, ConversationsResult } from "../protocol";
import type { Server } from "../server";
import type { Asker, Listening } from "./session";

let nAsked = 0;

export class ServerAsker implements Asker {
  constructor(private readonly server: Server) {}

  async ask(params: AskParams, listening: Listening, signal: AbortSignal): Promise<AskResult | null> {
    await this.started(listening, signal);
    const partialResultToken = `weft-answer-${++nAsked}`;
    const workDoneToken = `weft-work-${nAsked}`;
    await open(params.textDocument?.uri);
    const cancelling = new vscode.CancellationTokenSource();
    const stop = (): void => cancelling.cancel();
    const listeners = [
      this.server.onProgress(partialResultToken, (part) => listening.part(part as AskProgress)),
      this.server.onProgress(workDoneToken, (work) => {
        const note = (work as { message?: string }).message;
        if (note) listening.note(note);
      }),
    ];
    signal.addEventListener("abort", stop);
    if (signal.aborted) stop();
    try {
      const asked = { ...params, partialResultToken, workDoneToken };
      return await this.server.request<AskResult | null>("weft/ask", asked, cancelling.token);
    } finally {
      signal.removeEventListener("abort", stop);
      cancelling.dispose();
      for (const each of listeners) each.dispose();
    }
  }

  conversations(params: ConversationsParams): Promise<ConversationsResult> {
    return this.server.request<ConversationsResult>("weft/conversations", params);
  }

  /** A server that is being started is waited for, and what it waits for is told. */
  private started(listening: Listening, signal: AbortSignal): Promise<void> {
    const { server } = this;
    return new Promise((resolve) => {
      const look = (): void => {
        if (server.client === undefined && server.status.kind === "starting" && !signal.aborted) {
          listening.note(server.status.text);
        } else {
          heard.dispose();
          signal.removeEventListener("abort", look);
          resolve();
        }
      };
      const heard = server.onStatus(look);
      signal.addEventListener("abort", look);
      look();
    });
  }
}

/** The server knows selections of open documents only; the one that was attached may have been closed since. */
async function open(uri: string | undefined): Promise<void> {
  if (uri === undefined) return;
  await vscode.workspace.openTextDocument(vscode.Uri.parse(uri)).then(undefined, () => undefined);
}
