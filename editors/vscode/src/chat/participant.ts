// The chat participant `@weft` in VS Code's own chat.
//
// Owns the rendering of an answer there, and which stored conversation a chat continues. Registers nothing where VS Code
// has no chat.

import * as vscode from "vscode";
import type { AskParams, AskProgress, AskResult, Citation } from "../protocol";
import { toEditorRange, toLspRange } from "../ranges";
import type { Server } from "../server";
import { RESTARTED, ServerChat } from "./service";
import { split } from "./citations";
import { describe, isCancelled, isConversationGone, STOPPED } from "../errors";
import { ListingFences } from "./listing";
import { cursor } from "./open";

const ID = "weft.chat";

export function registerParticipant(context: vscode.ExtensionContext, server: Server): vscode.Disposable {
  if (typeof vscode.chat?.createChatParticipant !== "function") return new vscode.Disposable(() => {});
  const chatService = new ServerChat(server);
  const participant = vscode.chat.createChatParticipant(ID, async (request, chat, stream, token) => {
    const abort = new AbortController();
    token.onCancellationRequested(() => abort.abort());
    const answer = new StreamedAnswer(stream);
    const ask = (params: AskParams): Promise<AskResult | null> => chatService.ask(params, answer, abort.signal);
    const asked = { question: questionOf(request), ...(selectionOf(request) ?? cursor()), ...documentsOf(request) };
    const conversationId = conversationOf(chat);
    try {
      const result = await ask({ ...asked, ...(conversationId ? { conversationId } : {}) }).catch((error: unknown) => {
        if (conversationId && isConversationGone(error)) return ask(asked);
        throw error;
      });
      if (!result) return { errorDetails: { message: STOPPED } };
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
  // VS Code keeps `@weft` in the input for the next question; the user may type it again.
  const prompt = request.prompt.replace(/^@weft\b\s*/, "");
  return request.command ? `/${request.command} ${prompt}`.trim() : prompt;
}

/** The lines that the user attached to the question. */
function selectionOf(request: vscode.ChatRequest): Pick<AskParams, "textDocument" | "selection"> | undefined {
  for (const { value } of request.references) {
    if (!(value instanceof vscode.Location) || value.uri.scheme !== "file") continue;
    return { textDocument: { uri: value.uri.toString() }, selection: toLspRange(value.range) };
  }
  return undefined;
}

/** The files that the user attached whole. The server takes the documents among them. */
function documentsOf(request: vscode.ChatRequest): Pick<AskParams, "documents"> {
  const files = request.references.flatMap(({ value }) => (value instanceof vscode.Uri && value.scheme === "file" ? [value.toString()] : []));
  return files.length ? { documents: files } : {};
}

/** The conversation of the last answer. */
function conversationOf(chat: vscode.ChatContext): string {
  const answers = chat.history.filter((turn) => "result" in turn);
  return answers.at(-1)?.result.metadata?.["conversationId"] ?? "";
}

class StreamedAnswer {
  conversationId = "";
  private fences = new ListingFences();
  private citations: Citation[] = [];

  constructor(private readonly stream: vscode.ChatResponseStream) {}

  part(part: AskProgress): void {
    if (part.conversationId) this.conversationId = part.conversationId;
    if (part.citation) this.citations.push(part.citation);
    if (part.askedAs) this.stream.markdown(`*asked as:* ${escapeMarkdown(part.askedAs)}\n\n`);
    if (part.restart) {
      this.show(this.fences.end());
      this.stream.markdown(RESTARTED);
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
      this.stream.markdown(`\n\n${escapeMarkdown(note)}`);
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

/** Escapes Markdown in names of files and models. */
function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]#<>~|!&]/g, "\\$&");
}

function locationOf(citation: Citation | undefined): vscode.Location | undefined {
  if (!citation?.uri) return undefined;
  return new vscode.Location(vscode.Uri.parse(citation.uri), toEditorRange(citation.range));
}
