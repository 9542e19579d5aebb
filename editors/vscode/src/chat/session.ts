// One conversation as a person has it: a question, its answer on the way, stop, go on with an old one, begin anew.
//
// Owns the chat's value and which answer is waited for; one at a time. Knows no VS Code: the server is an `Asker`, and
// whoever shows the chat listens to its events.

import type { AskParams, AskProgress, AskResult, ConversationsParams, ConversationsResult } from "../protocol";
import { describe, isCancelled, isConversationGone } from "./errors";
import { type Attachment, type Chat, type ChatEvent, EMPTY, isBusy, reduce, turnOf } from "./state";

/** What is told while an answer is written: pieces of it, and what the server says about its work. */
export interface Listening {
  part(part: AskProgress): void;
  note(text: string): void;
}

export interface Asker {
  ask(params: AskParams, listening: Listening, signal: AbortSignal): Promise<AskResult | null>;
  conversations(params: ConversationsParams): Promise<ConversationsResult>;
}

/** Where a question is asked: the cursor, for `/explain` without a selection. */
export type Cursor = Pick<AskParams, "textDocument" | "position">;

export class Session {
  private current: Chat = EMPTY;
  private answering: AbortController | undefined;

  constructor(
    private readonly asker: Asker,
    private readonly tell: (event: ChatEvent) => void,
  ) {}

  get chat(): Chat {
    return this.current;
  }

  /** Asks in this conversation. False while another answer is on its way: nothing is asked then. */
  async ask(question: string, cursor: Cursor = {}): Promise<boolean> {
    if (isBusy(this.current) || !question.trim()) return false;
    const { conversationId, attachment } = this.current;
    const stopping = new AbortController();
    this.answering = stopping;
    this.happen({ type: "asked", question, attachment });
    const selected = attachment ? { textDocument: { uri: attachment.uri }, selection: attachment.range } : cursor;
    const params: AskParams = { question, ...(conversationId ? { conversationId } : {}), ...selected };
    const happen = (event: ChatEvent): void => {
      if (this.answering === stopping) this.happen(event);
    };
    const listening: Listening = {
      part: (part) => eventsOf(part).forEach(happen),
      note: (note) => happen({ type: "progressed", note }),
    };
    try {
      const result = await this.asker.ask(params, listening, stopping.signal);
      happen(result ? { type: "answered", result } : stoppedServer());
    } catch (error) {
      const isGone = isConversationGone(error);
      happen(isCancelled(error) ? { type: "stopped" } : { type: "failed", message: describe(error), isConversationGone: isGone });
    }
    return true;
  }

  /** Asks the last question again. */
  async askAgain(cursor: Cursor = {}): Promise<void> {
    const last = this.current.turns.at(-1);
    if (!last || isBusy(this.current)) return;
    this.happen({ type: "attached", attachment: last.attachment });
    await this.ask(last.question, cursor);
  }

  /** What was written stays. Does not wait for the server, which may be gone. */
  stop(): void {
    if (!isBusy(this.current)) return;
    this.happen({ type: "stopped" });
    this.leave();
  }

  attach(attachment: Attachment | null): void {
    this.happen({ type: "attached", attachment });
  }

  beginAnew(): void {
    this.stop();
    this.happen({ type: "opened", conversationId: "", turns: [] });
  }

  /** Goes on with a conversation of the history. Raises what the server says. */
  async open(id: string): Promise<void> {
    this.stop();
    const { turns } = await this.asker.conversations({ action: "get", id });
    if (isBusy(this.current)) return; // somebody asked meanwhile: that is what they want to see
    this.happen({ type: "opened", conversationId: turns?.length ? id : "", turns: (turns ?? []).map(turnOf) });
  }

  private leave(): void {
    this.answering?.abort();
    this.answering = undefined;
  }

  private happen(event: ChatEvent): void {
    this.current = reduce(this.current, event);
    this.tell(event);
  }
}

function eventsOf(part: AskProgress): ChatEvent[] {
  const events: ChatEvent[] = [];
  if (part.conversationId) events.push({ type: "began", conversationId: part.conversationId });
  if (part.restart) events.push({ type: "restarted" });
  if (part.citation) events.push({ type: "cited", citation: part.citation });
  if (part.text) events.push({ type: "written", text: part.text });
  return events;
}

function stoppedServer(): ChatEvent {
  return { type: "failed", message: "The server stopped before it answered. Ask again.", isConversationGone: false };
}
