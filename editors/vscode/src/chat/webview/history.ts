// The list of stored conversations: search, open, delete, all by keyboard too.
//
// Owns the list and its focus. Knows no server: `HistoryActions` request the changes, and `show` receives the list.

import type { Conversation } from "../../protocol";
import { button, element } from "./dom";

export interface HistoryActions {
  search(text: string): void;
  open(id: string): void;
  remove(conversation: Conversation): void;
  close(): void;
}

const SEARCH_DELAY_MS = 150;

export class History {
  readonly root: HTMLElement;
  private readonly box: HTMLInputElement;
  private readonly list: HTMLElement;
  private readonly state: HTMLElement;
  private searchTimer = 0;

  constructor(private readonly actions: HistoryActions) {
    this.box = element("input", {
      type: "search",
      id: "search",
      placeholder: "Search conversations",
      "aria-label": "Search the history",
      oninput: () => this.searchSoon(),
    });
    this.state = element("p", { class: "hint", role: "status" });
    this.list = element("ul", { class: "conversations", "aria-label": "Conversations" });
    this.root = element(
      "section",
      { id: "history", "aria-label": "History", hidden: true, onkeydown: (event: KeyboardEvent) => this.onKeydown(event) },
      this.box,
      this.state,
      this.list,
    );
  }

  get isOpen(): boolean {
    return !this.root.hidden;
  }

  open(): void {
    this.root.hidden = false;
    this.box.value = "";
    this.actions.search("");
    this.box.focus();
  }

  close(): void {
    this.root.hidden = true;
  }

  show(conversations: readonly Conversation[], text: string, error: string): void {
    if (text !== this.box.value) return; // of an earlier search
    const nth = this.entries().indexOf(document.activeElement as HTMLElement);
    this.list.replaceChildren(...conversations.map((each) => this.entry(each)));
    this.state.textContent = error || countOf(conversations.length, text);
    if (nth >= 0) (this.entries()[Math.min(nth, conversations.length - 1)] ?? this.box).focus();
  }

  private entry(conversation: Conversation): HTMLElement {
    const { id, title, turns, changedAt } = conversation;
    const when = new Date(changedAt * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    const detail = `${turns} ${turns === 1 ? "question" : "questions"}, ${when}`;
    const open = element(
      "button",
      { type: "button", class: "conversation", onclick: () => this.actions.open(id) },
      element("span", { class: "title" }, title || "Untitled"),
      element("span", { class: "detail" }, detail),
    );
    const remove = button("Delete", () => this.removeAt(open, conversation), {
      class: "secondary",
      "aria-label": `Delete “${title}”`,
    });
    open.addEventListener("keydown", (event) => {
      if (event.key === "Delete") this.removeAt(open, conversation);
    });
    return element("li", {}, open, remove);
  }

  private removeAt(entry: HTMLElement, conversation: Conversation): void {
    entry.focus(); // restored when the list is updated
    this.actions.remove(conversation);
  }

  private entries(): HTMLElement[] {
    return [...this.list.querySelectorAll<HTMLElement>(".conversation")];
  }

  private onKeydown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      const stops = [this.box, ...this.entries()];
      stops[stops.indexOf(document.activeElement as HTMLElement) + step]?.focus();
    } else if (event.key === "Escape") {
      this.actions.close();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  private searchSoon(): void {
    clearTimeout(this.searchTimer);
    this.searchTimer = setTimeout(() => this.actions.search(this.box.value), SEARCH_DELAY_MS) as unknown as number;
  }
}

function countOf(n: number, text: string): string {
  if (n) return `${n} ${n === 1 ? "conversation" : "conversations"}`;
  return text ? `No conversation contains “${text}”.` : "No conversations yet.";
}
