// The chat as a page: puts its parts together, tells the extension what a person does, shows what it answers.
//
// Owns the page's own state (the draft, whether the history is open). The conversation belongs to the extension; here
// is a copy that the same events keep up to date.

import type { ToExtension, ToView } from "../messages";
import { type Chat, EMPTY, isBusy, reduce } from "../state";
import { Composer } from "./composer";
import { button, element } from "./dom";
import { History } from "./history";
import { TurnList } from "./turns";

interface Kept {
  draft: string;
}
declare function acquireVsCodeApi(): {
  postMessage(message: ToExtension): void;
  getState(): Kept | undefined;
  setState(state: Kept): void;
};

const host = acquireVsCodeApi();
const tell = (message: ToExtension): void => host.postMessage(message);

const log = element("div", { id: "log" });
const announcer = element("div", { id: "announcer", class: "unseen", role: "log", "aria-live": "polite", "aria-label": "New in the answer" });
const intro = element(
  "div",
  { id: "intro" },
  element("p", {}, "Ask about the code of this workspace. An answer names the lines that it stands on; they open with a click or Enter."),
  element("p", {}, "Without a model you get the lines themselves. Your questions are kept on this machine."),
);
const conversation = element("main", { id: "conversation", "aria-label": "Conversation" }, intro, log);
const historyButton = button("History", () => (past.isOpen ? closeHistory() : openHistory()), {
  id: "show-history",
  class: "secondary",
  "aria-expanded": "false",
  "aria-controls": "history",
});
const newButton = button("New", () => begin(), { id: "new", class: "secondary", "aria-label": "New conversation" });
const bar = element("header", {}, element("h1", { class: "unseen" }, "Weft"), historyButton, newButton);

const turns = new TurnList(log, announcer, {
  openPlace: (turn, list, index) => tell({ type: "openPlace", turn, list, index }),
  copy: (text) => tell({ type: "copy", text }),
  askAgain: () => tell({ type: "askAgain" }),
  restart: () => tell({ type: "restart" }),
  showLog: () => tell({ type: "log" }),
});
const composer = new Composer({
  ask: (question) => {
    closeHistory();
    tell({ type: "ask", question });
  },
  stop: () => tell({ type: "stop" }),
  attach: () => tell({ type: "attach" }),
  detach: () => tell({ type: "detach" }),
  openAttachment: () => tell({ type: "openAttachment" }),
  draftChanged: (draft) => host.setState({ draft }),
});
const past = new History({
  search: (text) => tell({ type: "history", text }),
  open: (id) => {
    tell({ type: "openConversation", id });
    closeHistory();
  },
  remove: ({ id, title }) => tell({ type: "deleteConversation", id, title }),
  close: closeHistory,
});

let chat: Chat = EMPTY;
let isDue = false;

window.addEventListener("message", ({ data }: MessageEvent<ToView>) => {
  switch (data.type) {
    case "chat":
      chat = data.chat;
      return show(true);
    case "event":
      chat = reduce(chat, data.event);
      return data.event.type === "opened" ? show(true) : showSoon();
    case "commands":
      return composer.setCommands(data.commands);
    case "history":
      return past.show(data.conversations, data.text, data.error);
    case "focus":
      closeHistory();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isBusy(chat)) tell({ type: "stop" });
});

document.body.append(bar, past.root, conversation, composer.root, announcer);
composer.write(host.getState()?.draft ?? "");
show(true);
tell({ type: "ready" });

/** Many pieces of an answer in one frame are drawn once. */
function showSoon(): void {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    show(false);
  });
}

function show(isOther: boolean): void {
  // Who scrolled up to read is left there.
  const isAtEnd = conversation.scrollHeight - conversation.scrollTop - conversation.clientHeight < 40;
  intro.hidden = chat.turns.length > 0;
  turns.show(chat.turns, isOther);
  composer.show(chat.turns.map((turn) => turn.question), chat.attachment, isBusy(chat));
  if (isAtEnd || isOther || chat.turns.at(-1)?.answer === "") conversation.scrollTop = conversation.scrollHeight;
}

function begin(): void {
  tell({ type: "new" });
  closeHistory();
}

function openHistory(): void {
  conversation.hidden = true;
  historyButton.setAttribute("aria-expanded", "true");
  past.open();
}

function closeHistory(): void {
  past.close();
  conversation.hidden = false;
  historyButton.setAttribute("aria-expanded", "false");
  composer.focus();
}
