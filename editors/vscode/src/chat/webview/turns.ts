// The turns of a conversation: the question, the answer as it is written, what it stands on, and how it ended.
//
// Owns the elements of each turn and what a screen reader is told of an answer. Knows no server: what a person does
// goes to `Actions`.

import { AnswerRenderer } from "../markdown";
import { Sentences } from "../sentences";
import type { Evidence, Turn } from "../state";
import { BlockList, placeLink, sentence } from "./blocks";
import { button, element } from "./dom";

export interface Actions {
  openPlace(turn: number, list: "citations" | "evidence", index: number): void;
  copy(text: string): void;
  askAgain(): void;
  restart(): void;
  showLog(): void;
}

const NOT_YET = "Weft is looking…";
/** So many announcements stay: a reader of the log can go back a little. */
const MOST_ANNOUNCED = 20;

export class TurnList {
  private views: TurnView[] = [];

  constructor(
    private readonly into: HTMLElement,
    private readonly announcer: HTMLElement,
    private readonly actions: Actions,
  ) {}

  /** Turns of another conversation are not read aloud, answers that come are. */
  show(turns: readonly Turn[], isOther: boolean): void {
    if (isOther) {
      this.views = [];
      this.into.replaceChildren();
      this.announcer.replaceChildren();
    }
    turns.forEach((turn, n) => {
      const view = (this.views[n] ??= this.add(n, turn));
      const said = view.show(turn, n === turns.length - 1);
      if (said && !isOther) this.announce(said);
    });
  }

  private add(number: number, turn: Turn): TurnView {
    const view = new TurnView(number, turn, this.actions);
    this.into.append(view.root);
    return view;
  }

  private announce(text: string): void {
    this.announcer.append(element("p", {}, text));
    while (this.announcer.children.length > MOST_ANNOUNCED) this.announcer.firstElementChild?.remove();
  }
}

class TurnView {
  readonly root: HTMLElement;
  private readonly renderer = new AnswerRenderer();
  private readonly blocks: BlockList;
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
    this.root = element("article", { "aria-labelledby": id }, question, ...about, this.head, answer, this.foot);
    const openCitation = (index: number): void => {
      const nCitations = this.shown?.citations.length ?? 0;
      if (index < nCitations) actions.openPlace(number, "citations", index);
      else actions.openPlace(number, "evidence", index - nCitations);
    };
    this.blocks = new BlockList(answer, { openCitation, copy: actions.copy });
  }

  /** What has to be said of this turn to somebody who does not see it. */
  show(turn: Turn, isLast: boolean): string {
    if (turn === this.shown && isLast === this.wasLast) return "";
    const isChanged = turn !== this.shown;
    this.wasLast = isLast;
    this.shown = turn;
    this.root.dataset["state"] = turn.isFound ? turn.state : "not-found";
    this.root.setAttribute("aria-busy", String(turn.state === "writing"));
    const isWhole = turn.state !== "writing";
    // An answer without citations names lines of its evidence.
    const blocks = this.renderer.render(turn.answer, [...turn.citations, ...turn.evidence], isWhole);
    this.blocks.show(blocks.map(({ html }) => html));
    this.head.replaceChildren(...sentence(headOf(turn)));
    this.foot.replaceChildren(...this.footOf(turn, isLast));
    if (!isChanged) return "";
    const said = [this.sentences.next(blocks.map(({ text }) => text).join("\n"), isWhole), isWhole ? endOf(turn) : ""];
    return said.filter(Boolean).join(" ");
  }

  private footOf(turn: Turn, isLast: boolean): Node[] {
    const parts: Node[] = [];
    if (turn.state === "stopped") parts.push(element("p", { class: "stopped" }, "Stopped here."));
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
      button("Ask again", askAgain),
      button("Restart server", restart, { class: "secondary" }),
      button("Show log", showLog, { class: "secondary" }),
    ];
    const row = isLast ? [element("div", { class: "buttons" }, ...buttons)] : [];
    return element("div", { class: "error" }, element("p", {}, turn.error), ...row);
  }

  private evidence(all: readonly Evidence[]): HTMLElement {
    const items = all.map((each, index) => {
      const folder = each.folder.split(/[\\/]/).pop();
      const place = folder ? `${folder}: ${each.place}` : each.place;
      const open = (): void => this.actions.openPlace(this.number, "evidence", index);
      const head = each.uri ? placeLink(place, open) : element("span", { class: "place" }, place);
      const why = [each.why, ...(each.way?.length ? [`reached by ${each.way.join("; ")}`] : [])].filter(Boolean);
      return element("li", {}, head, ...why.map((text) => element("p", { class: "why" }, ...sentence(text))));
    });
    const summary = element("summary", {}, `Evidence: ${all.length} ${all.length === 1 ? "place" : "places"}, best first`);
    return element("details", { class: "evidence" }, summary, element("ol", {}, ...items));
  }
}

function headOf(turn: Turn): string {
  if (turn.state !== "writing") return turn.takenAs && `Asked as: ${turn.takenAs}`;
  return turn.progress || (turn.answer ? "" : NOT_YET);
}

function endOf(turn: Turn): string {
  if (turn.state === "stopped") return "Stopped.";
  if (turn.state === "failed") return turn.error;
  const n = turn.citations.length;
  return `End of the answer, ${n} ${n === 1 ? "citation" : "citations"}.`;
}
