// The input of the chat: Enter asks, Shift+Enter inserts a line break, Escape stops, Up recalls earlier questions, and a
// slash at the start lists the commands.
//
// Owns the text box, the list of commands and the attachment. Knows no conversation.

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

const BUSY_HINT = "An answer is being generated. Stop it with Escape, or wait until it ends.";

export class Composer {
  readonly root: HTMLElement;
  private readonly box: HTMLTextAreaElement;
  private readonly list: HTMLElement;
  private readonly attached: HTMLElement;
  private readonly hint: HTMLElement;
  private readonly send: HTMLButtonElement;
  private commands: readonly SlashCommand[] = [];
  private shownCommands: readonly SlashCommand[] = [];
  private active = -1;
  private asked: readonly string[] = [];
  /** How many questions back; 0 is the current text. */
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
      oninput: () => this.onInput(),
      onkeydown: (event: KeyboardEvent) => this.onKeydown(event),
      onblur: () => this.showCommands([]),
    });
    this.attached = element("div", { class: "attached" });
    this.hint = element("p", { class: "hint", role: "status" });
    this.send = button("Ask", () => this.sendOrStop(), { id: "send" });
    const add = button("Add Selection", actions.attach, { id: "attach", class: "secondary" });
    const row = element("div", { class: "buttons" }, add, this.send);
    this.root = element("section", { id: "composer", "aria-label": "Ask" }, this.attached, this.list, this.box, this.hint, row);
  }

  focus(): void {
    this.box.focus();
  }

  write(text: string): void {
    this.box.value = text;
    this.resize();
  }

  setCommands(commands: readonly SlashCommand[]): void {
    this.commands = commands;
    if (document.activeElement === this.box) this.showCommands(this.matching());
  }

  /** `asked` are the earlier questions, oldest first. */
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
    this.showCommands([]);
    this.actions.draftChanged("");
    this.actions.ask(question);
  }

  private onInput(): void {
    this.recalled = 0;
    this.hint.textContent = "";
    this.resize();
    this.showCommands(this.matching());
    this.actions.draftChanged(this.box.value);
  }

  private onKeydown(event: KeyboardEvent): void {
    if (event.isComposing) return;
    const isPlain = !event.shiftKey && !event.ctrlKey && !event.altKey && !event.metaKey;
    const isHandled = isPlain && (this.handleListKey(event.key) || this.handleBoxKey(event.key));
    if (isHandled) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  private handleListKey(key: string): boolean {
    const n = this.shownCommands.length;
    if (!n) return false;
    if (key === "ArrowDown") this.activate((this.active + 1) % n);
    else if (key === "ArrowUp") this.activate((this.active - 1 + n) % n);
    else if (key === "Escape") this.showCommands([]);
    else if (key === "Enter" && this.active >= 0) this.insertCommand(this.active);
    else return false;
    return true;
  }

  private handleBoxKey(key: string): boolean {
    if (key === "Enter") {
      this.ask();
      return true;
    }
    if (key === "ArrowUp") return this.recall(1);
    if (key === "ArrowDown") return this.recall(-1);
    return false;
  }

  /** Only while the box is empty or holds a recalled question; otherwise arrows move the cursor. */
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

  private showCommands(commands: readonly SlashCommand[]): void {
    this.shownCommands = commands;
    this.list.hidden = !commands.length;
    this.box.setAttribute("aria-expanded", String(commands.length > 0));
    const items = commands.map(({ name, argument, meaning }, n) =>
      element(
        "li",
        // Keeps the focus in the box: its blur would hide the list before the click.
        { id: `command-${n}`, role: "option", onmousedown: (event: Event) => event.preventDefault(), onclick: () => this.insertCommand(n) },
        element("span", { class: "name" }, `/${name}${argument && ` ${argument}`}`),
        element("span", { class: "meaning" }, meaning),
      ),
    );
    this.list.replaceChildren(...items);
    // Enter asks a command that is typed in full.
    this.activate(this.box.value === `/${commands[0]?.name}` ? -1 : 0);
  }

  private activate(n: number): void {
    this.active = this.shownCommands[n] ? n : -1;
    [...this.list.children].forEach((item, each) => item.setAttribute("aria-selected", String(each === this.active)));
    if (this.active >= 0) this.box.setAttribute("aria-activedescendant", `command-${this.active}`);
    else this.box.removeAttribute("aria-activedescendant");
    this.list.children[this.active]?.scrollIntoView({ block: "nearest" });
  }

  private insertCommand(n: number): void {
    const command = this.shownCommands[n];
    if (!command) return;
    this.write(`/${command.name}${command.argument ? " " : ""}`);
    this.showCommands([]);
    this.actions.draftChanged(this.box.value);
  }

  /** Grows with its text, up to the maximum height. */
  private resize(): void {
    this.box.style.height = "auto";
    this.box.style.height = `${this.box.scrollHeight}px`;
  }
}
