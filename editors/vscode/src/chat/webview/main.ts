// The page of the chat: creates its parts, posts user actions to the extension, and shows the chat state.
//
// Owns the state of the page: the draft, and whether the history is open. The chat state is a copy of the extension's.

import type { ToExtension, ToView } from "../messages";
import { type Chat, EMPTY, isBusy, reduce } from "../state";
import { Composer } from "./composer";
import { element } from "./dom";
import { History } from "./history";
import { Scroller } from "./scroller";
import { TurnList } from "./turns";

interface PageState {
  draft: string;
}
declare function acquireVsCodeApi(): {
  postMessage(message: ToExtension): void;
  getState(): PageState | undefined;
  setState(state: PageState): void;
};

const host = acquireVsCodeApi();
const post = (message: ToExtension): void => host.postMessage(message);

const log = element("div", { id: "log" });
const announcer = element("div", { id: "announcer", class: "unseen", role: "log", "aria-live": "polite", "aria-label": "New text of the answer" });
const intro = element(
  "div",
  { id: "intro" },
  element("p", {}, "Ask about the code of this workspace. Answers cite lines; open them with a click or Enter."),
  element("p", {}, "Without a chat model, an answer is the cited lines themselves. Conversations are stored on this machine."),
);
const conversation = element("main", { id: "conversation", "aria-label": "Conversation" }, intro, log);
const title = element("h1", { class: "unseen" }, "Weft");
const scroller = new Scroller(conversation);

const turns = new TurnList(log, announcer, {
  openLocation: (turn, list, index) => post({ type: "openLocation", turn, list, index }),
  copy: (text) => post({ type: "copy", text }),
  askAgain: () => post({ type: "askAgain" }),
  askAsWritten: (turn) => post({ type: "askAsWritten", turn }),
  restart: () => post({ type: "restart" }),
  showLog: () => post({ type: "log" }),
});
const composer = new Composer({
  ask: (question) => {
    closeHistory();
    post({ type: "ask", question });
  },
  stop: () => post({ type: "stop" }),
  attach: () => post({ type: "attach" }),
  detach: () => post({ type: "detach" }),
  openAttachment: () => post({ type: "openAttachment" }),
  draftChanged: (draft) => host.setState({ draft }),
});
const history = new History({
  search: (text) => post({ type: "history", text }),
  open: (id) => {
    post({ type: "openConversation", id });
    closeHistory();
  },
  remove: ({ id, title }) => post({ type: "deleteConversation", id, title }),
  close: closeHistory,
});

let chat: Chat = EMPTY;
let isScheduled = false;
let nShown = 0;

window.addEventListener("message", ({ data }: MessageEvent<ToView>) => {
  switch (data.type) {
    case "chat":
      chat = data.chat;
      return show(true);
    case "event":
      chat = reduce(chat, data.event);
      return data.event.type === "opened" ? show(true) : scheduleShow();
    case "commands":
      return composer.setCommands(data.commands);
    case "history":
      return history.show(data.conversations, data.text, data.error);
    case "focus":
      return closeHistory();
    case "toggleHistory":
      return history.isOpen ? closeHistory() : openHistory();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isBusy(chat)) post({ type: "stop" });
});

document.body.append(title, history.root, conversation, composer.root, announcer);
composer.write(host.getState()?.draft ?? "");
show(true);
post({ type: "ready" });

/** Shows the events of one frame together. */
function scheduleShow(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    show(false);
  });
}

/** A new question comes to the top of the view, where it stays while the answer is written below it. */
function show(isOther: boolean): void {
  const isNew = chat.turns.length !== nShown;
  nShown = chat.turns.length;
  intro.hidden = chat.turns.length > 0;
  turns.show(chat.turns, isOther);
  composer.show(chat.turns.map((turn) => turn.question), chat.attachment, isBusy(chat));
  if (isOther || isNew) scroller.toTop(log.lastElementChild);
  else scroller.follow();
}

function openHistory(): void {
  scroller.hide();
  history.open();
}

function closeHistory(): void {
  history.close();
  scroller.unhide();
  composer.focus();
}
