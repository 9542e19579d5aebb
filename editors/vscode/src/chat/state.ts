// The state of the chat and its reducer.
//
// Owns the states of a turn: writing, then answered, stopped or failed. The extension and the webview hold the same state
// and apply the same events, so that the webview can be closed and restored. Immutable. Knows no server and no page.

import type { AskResult, Citation, EvidenceItem, Range, Turn as StoredTurn } from "../protocol";

/** The selected lines that a question is about. */
export interface Attachment {
  label: string;
  uri: string;
  range: Range;
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
  /** The question that the server answered; empty when it is the question as written. */
  askedAs: string;
  /** The progress message of the server. */
  progress: string;
  /** The error, with the next step. */
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
  | { type: "resolved"; askedAs: string }
  | { type: "written"; text: string }
  | { type: "cited"; citation: Citation }
  | { type: "restarted" }
  | { type: "answered"; result: AskResult }
  | { type: "stopped" }
  | { type: "failed"; message: string; isConversationGone: boolean };

export const EMPTY: Chat = { conversationId: "", turns: [], attachment: null };

/** The server ends a stored answer that was stopped with this text. */
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
      return updateWriting(chat, () => ({ progress: event.note }));
    case "resolved":
      return updateWriting(chat, () => ({ askedAs: event.askedAs }));
    case "written":
      return updateWriting(chat, (turn) => ({ answer: turn.answer + event.text }));
    case "cited":
      return updateWriting(chat, (turn) => ({ citations: [...turn.citations, event.citation] }));
    case "restarted":
      return updateWriting(chat, () => ({ answer: "", citations: [] }));
    case "answered":
      // Empty after `/forget` or with the history disabled: the next question starts a new conversation.
      return { ...updateWriting(chat, () => answered(event.result)), conversationId: event.result.conversationId };
    case "stopped":
      return updateWriting(chat, () => ({ state: "stopped", progress: "" }));
    case "failed": {
      const failed = updateWriting(chat, () => ({ state: "failed", progress: "", error: event.message }));
      return event.isConversationGone ? { ...failed, conversationId: "" } : failed;
    }
  }
}

/** Whether an answer streams. */
export function isBusy(chat: Chat): boolean {
  return chat.turns.at(-1)?.state === "writing";
}

/** The state of a stored turn. */
export function turnOf(stored: StoredTurn): Turn {
  const text = stored.answer ?? "";
  const isStopped = text.endsWith(STOPPED_MARK);
  return {
    ...newTurn(stored.question, null),
    state: stored.answer === null ? "failed" : isStopped ? "stopped" : "answered",
    answer: isStopped ? text.slice(0, -STOPPED_MARK.length) : text,
    citations: stored.citations,
    evidence: stored.evidence,
    model: stored.model,
    askedAs: stored.askedAs ?? "",
    error: stored.answer === null ? "This question was not answered. Ask again." : "",
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
    askedAs: "",
    progress: "",
    error: "",
  };
}

function answered(result: AskResult): Partial<Turn> {
  return {
    state: "answered",
    answer: result.text,
    isFound: result.found,
    citations: result.citations,
    evidence: result.exhibits,
    notes: result.notes,
    model: result.model,
    askedAs: result.askedAs ?? "",
    progress: "",
  };
}

/** Changes the last turn while its answer streams; events after a stop have no effect. */
function updateWriting(chat: Chat, change: (turn: Turn) => Partial<Turn>): Chat {
  const last = chat.turns.at(-1);
  if (last?.state !== "writing") return chat;
  return { ...chat, turns: [...chat.turns.slice(0, -1), { ...last, ...change(last) }] };
}
