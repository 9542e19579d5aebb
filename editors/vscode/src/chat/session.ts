// One conversation: asks, stops, opens a stored conversation, starts a new one.
//
// Owns the chat state and the request in flight; one at a time. Knows no VS Code: the server is a `ChatService`, and views
// listen to the events.

import type { AskParams, AskProgress, AskResult, ConversationsParams, ConversationsResult } from "../protocol";
import { describe, isCancelled, isConversationGone, STOPPED } from "../errors";
import { type Attachment, type Chat, type ChatEvent, EMPTY, isBusy, reduce, turnOf } from "./state";

/** Receives the parts of an answer, and the progress messages of the server. */
export interface AnswerListener {
  part(part: AskProgress): void;
  note(text: string): void;
}

export interface ChatService {
  ask(params: AskParams, listener: AnswerListener, signal: AbortSignal): Promise<AskResult | null>;
  conversations(params: ConversationsParams): Promise<ConversationsResult>;
}

/** The position of the cursor, for `/explain` without a selection. */
export type Cursor = Pick<AskParams, "textDocument" | "position">;

export class Session {
  private current: Chat = EMPTY;
  private request: AbortController | undefined;

  constructor(
    private readonly service: ChatService,
    private readonly emit: (event: ChatEvent) => void,
  ) {}

  get chat(): Chat {
    return this.current;
  }

  /**
   * Asks in this conversation; `asWritten` without names of earlier turns. Returns false, without asking, while another
   * answer streams.
   */
  async ask(question: string, cursor: Cursor = {}, asWritten = false): Promise<boolean> {
    if (isBusy(this.current) || !question.trim()) return false;
    const { conversationId, attachment } = this.current;
    const request = new AbortController();
    this.request = request;
    this.dispatch({ type: "asked", question, attachment });
    const selected = attachment ? { textDocument: { uri: attachment.uri }, selection: attachment.range } : cursor;
    const params: AskParams = { question, ...(conversationId ? { conversationId } : {}), ...selected, ...(asWritten ? { asWritten } : {}) };
    const dispatch = (event: ChatEvent): void => {
      if (this.request === request) this.dispatch(event);
    };
    const listener: AnswerListener = {
      part: (part) => eventsOf(part).forEach(dispatch),
      note: (note) => dispatch({ type: "progressed", note }),
    };
    try {
      const result = await this.service.ask(params, listener, request.signal);
      dispatch(result ? { type: "answered", result } : { type: "failed", message: STOPPED, isConversationGone: false });
    } catch (error) {
      const isGone = isConversationGone(error);
      dispatch(isCancelled(error) ? { type: "stopped" } : { type: "failed", message: describe(error), isConversationGone: isGone });
    }
    return true;
  }

  /** Asks the last question again. */
  async askAgain(cursor: Cursor = {}): Promise<void> {
    const last = this.current.turns.at(-1);
    if (!last || isBusy(this.current)) return;
    this.dispatch({ type: "attached", attachment: last.attachment });
    await this.ask(last.question, cursor);
  }

  /** Asks the question of a turn again, as written. Stops the answer to what it was asked as. */
  async askAsWritten(number: number, cursor: Cursor = {}): Promise<void> {
    const turn = this.current.turns[number];
    if (!turn) return;
    this.stop();
    const { attachment } = this.current;
    this.dispatch({ type: "attached", attachment: turn.attachment });
    const asking = this.ask(turn.question, cursor, true);
    this.dispatch({ type: "attached", attachment }); // what is attached to the next question stays
    await asking;
  }

  /** Cancels the request and keeps the text so far. Does not wait for the server. */
  stop(): void {
    if (!isBusy(this.current)) return;
    this.dispatch({ type: "stopped" });
    this.request?.abort();
    this.request = undefined;
  }

  attach(attachment: Attachment | null): void {
    this.dispatch({ type: "attached", attachment });
  }

  newConversation(): void {
    this.stop();
    this.dispatch({ type: "opened", conversationId: "", turns: [] });
  }

  /** Opens a stored conversation. Rejects with the error of the server. */
  async open(id: string): Promise<void> {
    this.stop();
    const { turns } = await this.service.conversations({ action: "get", id });
    if (isBusy(this.current)) return; // a question was asked meanwhile
    this.dispatch({ type: "opened", conversationId: turns?.length ? id : "", turns: (turns ?? []).map(turnOf) });
  }

  private dispatch(event: ChatEvent): void {
    this.current = reduce(this.current, event);
    this.emit(event);
  }
}

function eventsOf(part: AskProgress): ChatEvent[] {
  const events: ChatEvent[] = [];
  if (part.conversationId) events.push({ type: "began", conversationId: part.conversationId });
  if (part.askedAs) events.push({ type: "resolved", askedAs: part.askedAs });
  if (part.restart) events.push({ type: "restarted" });
  if (part.citation) events.push({ type: "cited", citation: part.citation });
  if (part.text) events.push({ type: "written", text: part.text });
  return events;
}
