// What the chat view shows, as a value, and what each event makes of it.
//
// Owns the course of a turn: asked, written, then answered, stopped or failed. The extension and the view inside VS
// Code's frame both hold this value and apply the same events, so the view can be closed and come back at any moment.
// Values are replaced, never changed. Knows no server and no screen.

import type { AskResult, Citation, EvidenceItem, Turn as KeptTurn } from "../protocol";

/** Selected lines that a question is about. */
export interface Attachment {
  label: string;
  uri: string;
  range: { start: { line: number; character: number }; end: { line: number; character: number } };
}

export type Evidence = Pick<EvidenceItem, "kind" | "folder" | "place" | "symbol" | "why"> &
  Partial<Pick<EvidenceItem, "uri" | "startLine" | "endLine" | "score" | "way">>;

export interface Turn {
  question: string;
  attachment: Attachment | null;
  state: "writing" | "answered" | "stopped" | "failed";
  answer: string;
  isFound: boolean;
  citations: readonly Citation[];
  evidence: readonly Evidence[];
  notes: readonly string[];
  model: string;
  /** The question as it was taken, where that is another: with the name that "it" stands for put in. */
  takenAs: string;
  /** What the server says of its work. */
  progress: string;
  /** Why there is no answer, and the next step. */
  error: string;
}

export interface Chat {
  conversationId: string;
  turns: readonly Turn[];
  attachment: Attachment | null;
}

export type ChatEvent =
  | { type: "opened"; conversationId: string; turns: readonly Turn[] }
  | { type: "attached"; attachment: Attachment | null }
  | { type: "asked"; question: string; attachment: Attachment | null }
  | { type: "began"; conversationId: string }
  | { type: "progressed"; note: string }
  | { type: "written"; text: string }
  | { type: "cited"; citation: Citation }
  | { type: "restarted" }
  | { type: "answered"; result: AskResult }
  | { type: "stopped" }
  | { type: "failed"; message: string; isConversationGone: boolean };

export const EMPTY: Chat = { conversationId: "", turns: [], attachment: null };

/** What the server writes below an answer that was stopped, in the history. */
const STOPPED_MARK = "\n\n(The answer was stopped here.)";

export function reduce(chat: Chat, event: ChatEvent): Chat {
  switch (event.type) {
    case "opened":
      return { ...chat, conversationId: event.conversationId, turns: event.turns };
    case "attached":
      return { ...chat, attachment: event.attachment };
    case "asked":
      return { ...chat, attachment: null, turns: [...chat.turns, newTurn(event.question, event.attachment)] };
    case "began":
      return { ...chat, conversationId: event.conversationId };
    case "progressed":
      return writing(chat, () => ({ progress: event.note }));
    case "written":
      return writing(chat, (turn) => ({ answer: turn.answer + event.text }));
    case "cited":
      return writing(chat, (turn) => ({ citations: [...turn.citations, event.citation] }));
    case "restarted":
      return writing(chat, () => ({ answer: "", citations: [] }));
    case "answered":
      // Nothing is kept of a conversation that was forgotten, or with history switched off: then the next one is new.
      return { ...writing(chat, (turn) => answered(turn.question, event.result)), conversationId: event.result.conversationId };
    case "stopped":
      return writing(chat, () => ({ state: "stopped", progress: "" }));
    case "failed": {
      const failed = writing(chat, () => ({ state: "failed", progress: "", error: event.message }));
      return event.isConversationGone ? { ...failed, conversationId: "" } : failed;
    }
  }
}

/** Whether an answer is on its way. */
export function isBusy(chat: Chat): boolean {
  return chat.turns.at(-1)?.state === "writing";
}

/** A turn of the history as it is shown. */
export function turnOf(kept: KeptTurn): Turn {
  const text = kept.answer ?? "";
  const isStopped = text.endsWith(STOPPED_MARK);
  return {
    ...newTurn(kept.question, null),
    state: kept.answer === null ? "failed" : isStopped ? "stopped" : "answered",
    answer: isStopped ? text.slice(0, -STOPPED_MARK.length) : text,
    citations: kept.citations,
    evidence: kept.evidence,
    model: kept.model,
    error: kept.answer === null ? "This was not answered. Ask again." : "",
  };
}

function newTurn(question: string, attachment: Attachment | null): Turn {
  return {
    question,
    attachment,
    state: "writing",
    answer: "",
    isFound: true,
    citations: [],
    evidence: [],
    notes: [],
    model: "",
    takenAs: "",
    progress: "",
    error: "",
  };
}

function answered(question: string, result: AskResult): Partial<Turn> {
  return {
    state: "answered",
    answer: result.text,
    isFound: result.found,
    citations: result.citations,
    evidence: result.exhibits,
    notes: result.notes,
    model: result.model,
    takenAs: question.startsWith("/") || result.question === question ? "" : result.question,
    progress: "",
  };
}

/** The chat with its last turn changed. What comes late for one that was stopped changes nothing. */
function writing(chat: Chat, change: (turn: Turn) => Partial<Turn>): Chat {
  const last = chat.turns.at(-1);
  if (last?.state !== "writing") return chat;
  return { ...chat, turns: [...chat.turns.slice(0, -1), { ...last, ...change(last) }] };
}
