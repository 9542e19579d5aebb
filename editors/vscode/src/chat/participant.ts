// `@weft` in VS Code's own chat: the same answers, with their places as links there.
//
// Owns how an answer looks in that chat, and which of Weft's conversations a chat there goes on with. Does nothing
// where the host has no chat.

import * as vscode from "vscode";
import type { AskParams, AskProgress, AskResult, Citation } from "../protocol";
import type { Server } from "../server";
import { ServerAsker } from "./asker";
import { split } from "./citations";
import { describe, isCancelled, isConversationGone } from "./errors";
import { ListingFences } from "./listing";
import { cursor } from "./open";

const ID = "weft.chat";

export function registerParticipant(context: vscode.ExtensionContext, server: Server): vscode.Disposable {
  if (typeof vscode.chat?.createChatParticipant !== "function") return new vscode.Disposable(() => {});
  const asker = new ServerAsker(server);
  const participant = vscode.chat.createChatParticipant(ID, async (request, chat, stream, token) => {
    const stopping = new AbortController();
    token.onCancellationRequested(() => stopping.abort());
    const answer = new AnswerInChat(stream);
    const ask = (params: AskParams): Promise<AskResult | null> => asker.ask(params, answer, stopping.signal);
    const asked = { question: questionOf(request), ...(selectionOf(request) ?? cursor()) };
    const conversationId = conversationOf(chat);
    try {
      const result = await ask({ ...asked, ...(conversationId ? { conversationId } : {}) }).catch((error: unknown) => {
        if (conversationId && isConversationGone(error)) return ask(asked);
        throw error;
      });
      if (!result) return { errorDetails: { message: "The server stopped before it answered. Ask again." } };
      answer.end(result);
    } catch (error) {
      if (!isCancelled(error)) return { errorDetails: { message: describe(error) } };
    }
    return { metadata: { conversationId: answer.conversationId } };
  });
  participant.iconPath = vscode.Uri.joinPath(context.extensionUri, "media", "icon.png");
  return participant;
}

function questionOf(request: vscode.ChatRequest): string {
  // The name stays in the box for the next question; who types it again means no more than once.
  const prompt = request.prompt.replace(/^@weft\b\s*/, "");
  return request.command ? `/${request.command} ${prompt}`.trim() : prompt;
}

/** Lines that the person added to the question. */
function selectionOf(request: vscode.ChatRequest): Pick<AskParams, "textDocument" | "selection"> | undefined {
  for (const { value } of request.references) {
    if (!(value instanceof vscode.Location) || value.uri.scheme !== "file") continue;
    const { start, end } = value.range;
    return {
      textDocument: { uri: value.uri.toString() },
      selection: {
        start: { line: start.line, character: start.character },
        end: { line: end.line, character: end.character },
      },
    };
  }
  return undefined;
}

/** Each answer remembers where it is kept; the last one leads on. */
function conversationOf(chat: vscode.ChatContext): string {
  const answers = chat.history.filter((turn) => "result" in turn);
  return answers.at(-1)?.result.metadata?.["conversationId"] ?? "";
}

class AnswerInChat {
  conversationId = "";
  private fences = new ListingFences();
  private citations: Citation[] = [];

  constructor(private readonly stream: vscode.ChatResponseStream) {}

  part(part: AskProgress): void {
    if (part.conversationId) this.conversationId = part.conversationId;
    if (part.citation) this.citations.push(part.citation);
    if (part.restart) {
      this.show(this.fences.end());
      this.stream.markdown("\n\nThe model broke off. The answer begins anew:\n\n");
      this.fences = new ListingFences();
      this.citations = [];
    }
    if (part.text) this.show(this.fences.feed(part.text));
  }

  note(text: string): void {
    this.stream.progress(text);
  }

  end(result: AskResult): void {
    this.show(this.fences.end());
    this.conversationId = result.conversationId;
    for (const note of result.notes) {
      this.stream.markdown(`\n\n${asPlainText(note)}`);
    }
    for (const citation of result.citations) {
      const location = locationOf(citation);
      if (location) this.stream.reference(location);
    }
  }

  private show(text: string): void {
    for (const piece of split(text, this.citations)) {
      if (typeof piece === "string") {
        this.stream.markdown(piece);
        continue;
      }
      const location = locationOf(this.citations[piece.citation]);
      if (location) this.stream.anchor(location, piece.text);
      else this.stream.markdown(piece.text);
    }
  }
}

/** Names of files and models hold marks of Markdown. */
function asPlainText(text: string): string {
  return text.replace(/[\\`*_[\]#<>~|!&]/g, "\\$&");
}

function locationOf(citation: Citation | undefined): vscode.Location | undefined {
  if (!citation?.uri) return undefined;
  const { start, end } = citation.range;
  const range = new vscode.Range(start.line, start.character, end.line, end.character);
  return new vscode.Location(vscode.Uri.parse(citation.uri), range);
}
