// What the extension and the view in VS Code's frame say to each other.
//
// Owns the two lists. The view names places by their numbers in the chat, never by a path, so it can open nothing that
// the server has not named.

import type { Conversation, SlashCommand } from "../protocol";
import type { Chat, ChatEvent } from "./state";

export type ToView =
  | { type: "chat"; chat: Chat }
  | { type: "event"; event: ChatEvent }
  | { type: "commands"; commands: readonly SlashCommand[] }
  | { type: "history"; conversations: readonly Conversation[]; text: string; error: string }
  | { type: "focus" };

export type ToExtension =
  | { type: "ready" }
  | { type: "ask"; question: string }
  | { type: "askAgain" | "stop" | "attach" | "detach" | "new" | "restart" | "log" }
  | { type: "openPlace"; turn: number; list: "citations" | "evidence"; index: number }
  | { type: "openAttachment" }
  | { type: "copy"; text: string }
  | { type: "history"; text: string }
  | { type: "openConversation"; id: string }
  | { type: "deleteConversation"; id: string; title: string };
