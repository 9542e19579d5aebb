// The turns of a conversation: question, answer, evidence, notes and errors.
//
// Owns the elements of each turn and the announcements for screen readers. Knows no server: `Actions` handle the clicks.

import { AnswerRenderer } from "../markdown";
import { Sentences } from "../sentences";
import type { Evidence, Turn } from "../state";
import { BlockList, breakableNodes, locationLink, sentence } from "./blocks";
import { button, element } from "./dom";

export interface Actions {
  openLocation(turn: number, list: "citations" | "evidence", index: number): void;
  copy(text: string): void;
  askAgain(): void;
  askAsWritten(turn: number): void;
  restart(): void;
  showLog(): void;
}

const SEARCHING = "Searching the repository…";
/** Older announcements are removed from the live region. */
const MAX_ANNOUNCEMENTS = 20;

export class TurnList {
  private views: TurnView[] = [];

  constructor(
    private readonly into: HTMLElement,
    private readonly announcer: HTMLElement,
    private readonly actions: Actions,
  ) {}

  /** Announces new text, but not the turns of another conversation. */
  show(turns: readonly Turn[], isOther: boolean): void {
    if (isOther) {
      this.views = [];
      this.into.replaceChildren();
      this.announcer.replaceChildren();
    }
    turns.forEach((turn, n) => {
      const view = (this.views[n] ??= this.add(n, turn));
      const announcement = view.show(turn, n === turns.length - 1);
      if (announcement && !isOther) this.announce(announcement);
    });
  }

  private add(number: number, turn: Turn): TurnView {
    const view = new TurnView(number, turn, this.actions);
    this.into.append(view.root);
    return view;
  }

  private announce(text: string): void {
    this.announcer.append(element("p", {}, text));
    while (this.announcer.children.length > MAX_ANNOUNCEMENTS) this.announcer.firstElementChild?.remove();
  }
}

class TurnView {
  readonly root: HTMLElement;
  private readonly renderer = new AnswerRenderer();
  private readonly blocks: BlockList;
  private readonly askedAs = element("p", { class: "about asked-as" });
  private readonly head = element("p", { class: "about" });
  private readonly foot = element("div", { class: "foot" });
  private readonly sentences = new Sentences();
  private shown: Turn | undefined;
  private wasLast = false;

  constructor(
    private readonly number: number,
    turn: Turn,
    private readonly actions: Actions,
  ) {
    const id = `question-${number}`;
    const about = turn.attachment ? [element("p", { class: "about" }, `About ${turn.attachment.label}`)] : [];
    const answer = element("div", { class: "answer" });
    const question = element("h2", { id, class: "question" }, turn.question);
    this.root = element("article", { "aria-labelledby": id }, question, ...about, this.askedAs, this.head, answer, this.foot);
    const openCitation = (index: number): void => {
      const nCitations = this.shown?.citations.length ?? 0;
      if (index < nCitations) actions.openLocation(number, "citations", index);
      else actions.openLocation(number, "evidence", index - nCitations);
    };
    this.blocks = new BlockList(answer, { openCitation, copy: actions.copy });
  }

  /** Shows the turn; returns the text to announce to screen readers. */
  show(turn: Turn, isLast: boolean): string {
    if (turn === this.shown && isLast === this.wasLast) return "";
    const isChanged = turn !== this.shown;
    this.wasLast = isLast;
    this.shown = turn;
    this.root.dataset["state"] = turn.isFound ? turn.state : "not-found";
    this.root.setAttribute("aria-busy", String(turn.state === "writing"));
    const isWhole = turn.state !== "writing";
    // An answer without citations may name locations of its evidence.
    const blocks = this.renderer.render(turn.answer, [...turn.citations, ...turn.evidence], isWhole);
    this.blocks.show(blocks.map(({ html }) => html));
    const isAskedAsNew = this.showAskedAs(turn.askedAs);
    this.head.replaceChildren(...sentence(headOf(turn)));
    this.foot.replaceChildren(...this.footOf(turn, isLast));
    if (!isChanged) return "";
    const askedAs = isAskedAsNew && turn.askedAs ? `Asked as: ${turn.askedAs}` : "";
    const announced = [askedAs, this.sentences.next(blocks.map(({ text }) => text).join("\n"), isWhole), isWhole ? endOf(turn) : ""];
    return announced.filter(Boolean).join(" ");
  }

  /** Above the answer: the question that was answered, and the way to ask it as written. True when it changed. */
  private showAskedAs(question: string): boolean {
    if (question === (this.askedAs.dataset["question"] ?? "")) return false;
    this.askedAs.dataset["question"] = question;
    const again = button("Ask as written", () => this.actions.askAsWritten(this.number), { class: "link" });
    this.askedAs.replaceChildren(...(question ? ["asked as: ", ...sentence(question), " ", again] : []));
    return true;
  }

  private footOf(turn: Turn, isLast: boolean): Node[] {
    const parts: Node[] = [];
    if (turn.state === "stopped") parts.push(element("p", { class: "stopped" }, "Stopped."));
    if (turn.state === "failed") parts.push(this.failed(turn, isLast));
    if (turn.notes.length) {
      const notes = turn.notes.map((note) => element("li", {}, ...sentence(note)));
      parts.push(element("ul", { class: "notes", "aria-label": "Notes" }, ...notes));
    }
    if (turn.model) parts.push(element("p", { class: "model" }, `Written by ${turn.model}`));
    if (turn.evidence.length) parts.push(this.evidence(turn.evidence));
    return parts;
  }

  private failed(turn: Turn, isLast: boolean): HTMLElement {
    const { askAgain, restart, showLog } = this.actions;
    const buttons = [
      button("Ask Again", askAgain),
      button("Restart Server", restart, { class: "secondary" }),
      button("Show Log", showLog, { class: "secondary" }),
    ];
    const row = isLast ? [element("div", { class: "buttons" }, ...buttons)] : [];
    return element("div", { class: "error" }, element("p", {}, turn.error), ...row);
  }

  private evidence(all: readonly Evidence[]): HTMLElement {
    const items = all.map((each, index) => {
      const folder = each.folder.split(/[\\/]/).pop();
      const location = folder ? `${folder}: ${each.place}` : each.place;
      const open = (): void => this.actions.openLocation(this.number, "evidence", index);
      const head = each.uri ? locationLink(location, open) : element("span", { class: "place" }, ...breakableNodes(location));
      const why = [each.why, ...(each.way?.length ? [`reached by ${each.way.join("; ")}`] : [])].filter(Boolean);
      return element("li", {}, head, ...why.map((text) => element("p", { class: "why" }, ...sentence(text))));
    });
    const summary = element("summary", {}, `Evidence: ${all.length} ${all.length === 1 ? "location" : "locations"}, best first`);
    return element("details", { class: "evidence" }, summary, element("ol", {}, ...items));
  }
}

function headOf(turn: Turn): string {
  if (turn.state !== "writing") return "";
  return turn.progress || (turn.answer ? "" : SEARCHING);
}

function endOf(turn: Turn): string {
  if (turn.state === "stopped") return "Stopped.";
  if (turn.state === "failed") return turn.error;
  const n = turn.citations.length;
  return `End of the answer, ${n} ${n === 1 ? "citation" : "citations"}.`;
}
