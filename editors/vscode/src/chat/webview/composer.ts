// Where a question is written: Enter asks, Shift+Enter begins a line, Escape stops, the arrow up brings the last
// question back, and a slash at the beginning offers the commands.
//
// Owns the text box, the list of commands and what is attached. Knows no conversation: it is told what was asked
// before and whether an answer is on its way.

import type { SlashCommand } from "../../protocol";
import type { Attachment } from "../state";
import { button, element } from "./dom";

export interface ComposerActions {
  ask(question: string): void;
  stop(): void;
  attach(): void;
  detach(): void;
  openAttachment(): void;
  draftChanged(text: string): void;
}

const BUSY_HINT = "An answer is being written. Stop it (Escape), or wait for its end.";

export class Composer {
  readonly root: HTMLElement;
  private readonly box: HTMLTextAreaElement;
  private readonly list: HTMLElement;
  private readonly attached: HTMLElement;
  private readonly hint: HTMLElement;
  private readonly send: HTMLButtonElement;
  private commands: readonly SlashCommand[] = [];
  private offered: readonly SlashCommand[] = [];
  private active = -1;
  private asked: readonly string[] = [];
  /** How far back the arrow went; 0 is the text of now. */
  private recalled = 0;
  private isBusy = false;

  constructor(private readonly actions: ComposerActions) {
    this.list = element("ul", { id: "commands", role: "listbox", "aria-label": "Commands", hidden: true });
    this.box = element("textarea", {
      id: "question",
      rows: "2",
      placeholder: "Ask about this repository, or type / for commands",
      "aria-label": "Question",
      role: "combobox",
      "aria-autocomplete": "list",
      "aria-controls": "commands",
      "aria-expanded": "false",
      oninput: () => this.changed(),
      onkeydown: (event: KeyboardEvent) => this.pressed(event),
      onblur: () => this.offer([]),
    });
    this.attached = element("div", { class: "attached" });
    this.hint = element("p", { class: "hint", role: "status" });
    this.send = button("Ask", () => this.sendOrStop(), { id: "send" });
    const add = button("Add selection", actions.attach, { id: "attach", class: "secondary" });
    const row = element("div", { class: "buttons" }, add, this.send);
    this.root = element("section", { id: "composer", "aria-label": "Ask" }, this.attached, this.list, this.box, this.hint, row);
  }

  focus(): void {
    this.box.focus();
  }

  write(text: string): void {
    this.box.value = text;
    this.fit();
  }

  setCommands(commands: readonly SlashCommand[]): void {
    this.commands = commands;
    if (document.activeElement === this.box) this.offer(this.matching());
  }

  /** `asked` are the questions before, the oldest first. */
  show(asked: readonly string[], attachment: Attachment | null, isBusy: boolean): void {
    this.asked = asked;
    if (isBusy !== this.isBusy) this.hint.textContent = "";
    this.isBusy = isBusy;
    this.send.textContent = isBusy ? "Stop" : "Ask";
    this.send.className = isBusy ? "stop" : "";
    const chip = (given: Attachment): Node[] => [
      button(given.label, this.actions.openAttachment, { class: "chip", title: `Open ${given.label}` }),
      button("Remove", this.actions.detach, { class: "chip", "aria-label": `Remove ${given.label} from the question` }),
    ];
    this.attached.replaceChildren(...(attachment ? chip(attachment) : []));
  }

  private sendOrStop(): void {
    if (this.isBusy) this.actions.stop();
    else this.ask();
    this.box.focus();
  }

  private ask(): void {
    const question = this.box.value.trim();
    if (!question) return;
    if (this.isBusy) {
      this.hint.textContent = BUSY_HINT;
      return;
    }
    this.recalled = 0;
    this.write("");
    this.offer([]);
    this.actions.draftChanged("");
    this.actions.ask(question);
  }

  private changed(): void {
    this.recalled = 0;
    this.hint.textContent = "";
    this.fit();
    this.offer(this.matching());
    this.actions.draftChanged(this.box.value);
  }

  private pressed(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const isPlain = !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
    const done = isPlain && (this.pressedInList(event.key) || this.pressedInBox(event.key));
    if (done) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private pressedInList(key: string): boolean {
    const n = this.offered.length;
    if (!n) return false;
    if (key === "ArrowDown") this.activate((this.active + 1) % n);
    else if (key === "ArrowUp") this.activate((this.active - 1 + n) % n);
    else if (key === "Escape") this.offer([]);
    else if (key === "Enter" && this.active >= 0) this.take(this.active);
    else return false;
    return true;
  }

  private pressedInBox(key: string): boolean {
    if (key === "Enter") {
      this.ask();
      return true;
    }
    if (key === "ArrowUp") return this.recall(1);
    if (key === "ArrowDown") return this.recall(-1);
    return false;
  }

  /** Only in an empty box, or one that still holds what was brought back: arrows move the cursor otherwise. */
  private recall(steps: number): boolean {
    const before = this.asked[this.asked.length - this.recalled];
    if (this.box.value !== (this.recalled ? before : "")) return false;
    const recalled = this.recalled + steps;
    if (recalled < 0 || recalled > this.asked.length) return false;
    this.recalled = recalled;
    this.write(recalled ? (this.asked[this.asked.length - recalled] ?? "") : "");
    this.actions.draftChanged(this.box.value);
    return true;
  }

  private matching(): SlashCommand[] {
    const typed = /^\/([A-Za-z]*)$/.exec(this.box.value)?.[1]?.toLowerCase();
    return typed === undefined ? [] : this.commands.filter(({ name }) => name.startsWith(typed));
  }

  private offer(commands: readonly SlashCommand[]): void {
    this.offered = commands;
    this.list.hidden = !commands.length;
    this.box.setAttribute("aria-expanded", String(commands.length > 0));
    const items = commands.map(({ name, argument, meaning }, n) =>
      element(
        "li",
        // The box keeps the focus: a click must not take it away before it counts.
        { id: `command-${n}`, role: "option", onmousedown: (event: Event) => event.preventDefault(), onclick: () => this.take(n) },
        element("span", { class: "name" }, `/${name}${argument && ` ${argument}`}`),
        element("span", { class: "meaning" }, meaning),
      ),
    );
    this.list.replaceChildren(...items);
    // A command that is typed in full is asked by Enter.
    this.activate(this.box.value === `/${commands[0]?.name}` ? -1 : 0);
  }

  private activate(n: number): void {
    this.active = this.offered[n] ? n : -1;
    [...this.list.children].forEach((item, each) => item.setAttribute("aria-selected", String(each === this.active)));
    if (this.active >= 0) this.box.setAttribute("aria-activedescendant", `command-${this.active}`);
    else this.box.removeAttribute("aria-activedescendant");
    this.list.children[this.active]?.scrollIntoView({ block: "nearest" });
  }

  private take(n: number): void {
    const command = this.offered[n];
    if (!command) return;
    this.write(`/${command.name}${command.argument ? " " : ""}`);
    this.offer([]);
    this.actions.draftChanged(this.box.value);
  }

  /** As high as its text, up to a part of the view. */
  private fit(): void {
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }
}
