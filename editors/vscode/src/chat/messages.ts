// Messages between the extension and the webview.
//
// The webview names locations by their index in the chat, never by a path: it can open only what the server cited.

import type { Conversation, SlashCommand } from "../protocol";
import type { Chat, ChatEvent } from "./state";

export type ToView =
  | { type: "chat"; chat: Chat }
  | { type: "event"; event: ChatEvent }
  | { type: "commands"; commands: readonly SlashCommand[] }
  | { type: "history"; conversations: readonly Conversation[]; text: string; error: string }
  | { type: "focus" | "toggleHistory" };

export type ToExtension =
  | { type: "ready" }
  | { type: "ask"; question: string }
  | { type: "askAgain" | "stop" | "attach" | "detach" | "restart" | "log" }
  | { type: "askAsWritten"; turn: number }
  | { type: "openLocation"; turn: number; list: "citations" | "evidence"; index: number }
  | { type: "openAttachment" }
  | { type: "copy"; text: string }
  | { type: "history"; text: string }
  | { type: "openConversation"; id: string }
  | { type: "deleteConversation"; id: string; title: string };
