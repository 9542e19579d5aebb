// The tree of an answer as elements of a page.
//
// Owns how each kind of block looks to eye and ear. An answer grows at its end, so blocks that did not change keep
// their elements: focus and selection stay. Knows no conversation.

import { type Block, type Inline, parseInline } from "../markdown";
import { button, element } from "./dom";

export interface Handlers {
  openCitation(citation: number): void;
  copy(text: string): void;
}

/** Headings of an answer stand below the question, which is one of the second level. */
const QUESTION_LEVEL = 2;

export class BlockList {
  private keys: string[] = [];

  constructor(
    private readonly into: HTMLElement,
    private readonly handlers: Handlers,
  ) {}

  show(blocks: readonly Block[]): void {
    const keys = blocks.map((block) => JSON.stringify(block));
    const children = [...this.into.children];
    blocks.forEach((block, n) => {
      if (keys[n] === this.keys[n]) return;
      const made = elementOf(block, this.handlers);
      if (children[n]) children[n].replaceWith(made);
      else this.into.append(made);
    });
    for (const child of children.slice(blocks.length)) child.remove();
    this.keys = keys;
  }
}

function elementOf(block: Block, handlers: Handlers): HTMLElement {
  switch (block.kind) {
    case "paragraph":
      return element("p", {}, ...inlineOf(block.children, handlers));
    case "heading": {
      const level = Math.min(block.level + QUESTION_LEVEL, 6) as 3 | 4 | 5 | 6;
      return element(`h${level}`, {}, ...inlineOf(block.children, handlers));
    }
    case "list": {
      const items = block.items.map((item) => element("li", {}, ...item.map((each) => elementOf(each, handlers))));
      if (block.start === null) return element("ul", {}, ...items);
      return element("ol", { start: String(block.start) }, ...items);
    }
    case "code":
      return codeOf(block.text, [element("code", {}, block.text)], handlers);
    case "listing": {
      const lines = block.lines.flatMap(({ number, text }) => [
        element("span", { class: "number" }, number || "…"),
        element("code", {}, number ? `${text}\n` : "\n"),
      ]);
      return codeOf(block.lines.map(({ text }) => text).join("\n"), lines, handlers, "listing");
    }
    case "rule":
      return element("hr");
  }
}

function codeOf(text: string, content: Node[], handlers: Handlers, kind = ""): HTMLElement {
  const copy: HTMLButtonElement = button("Copy", () => {
    handlers.copy(text);
    copy.textContent = "Copied";
    copy.addEventListener("blur", () => (copy.textContent = "Copy"), { once: true });
  }, { class: "copy", "aria-label": "Copy code" });
  // Code that is wider than the view is scrolled, by keys as well.
  const pre = element("pre", { tabindex: "0", role: "group", "aria-label": "Code", class: kind }, ...content);
  return element("div", { class: "block" }, pre, copy);
}

function inlineOf(children: readonly Inline[], handlers: Handlers): Node[] {
  return children.map((child) => {
    switch (child.kind) {
      case "text":
        return document.createTextNode(child.text);
      case "code":
        return element("code", {}, child.text);
      case "strong":
        return element("strong", {}, ...inlineOf(child.children, handlers));
      case "break":
        return element("br");
      case "place":
        return placeLink(child.text, () => handlers.openCitation(child.citation));
    }
  });
}

/** A sentence of the server's, with its code as code. */
export function sentence(text: string): Node[] {
  return inlineOf(parseInline(text), { openCitation() {}, copy() {} });
}

/** A link that opens lines in the editor. It leads to no address, so it is none to the browser. */
export function placeLink(text: string, open: () => void): HTMLElement {
  const follow = (event: Event): void => {
    event.preventDefault();
    open();
  };
  return element("a", { href: "#", class: "place", title: `Open ${text}`, onclick: follow }, text);
}
