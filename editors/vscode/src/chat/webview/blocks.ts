// The HTML blocks of an answer as elements of the page.
//
// Handles the clicks on citations and on the copy buttons. Blocks that did not change keep their elements, with focus and
// selection.

import { breakableParts, sentenceHtml, WITH_LINES } from "../markdown";
import { element, elementsOf } from "./dom";

export interface Handlers {
  openCitation(citation: number): void;
  copy(text: string): void;
}

export class BlockList {
  private shown: readonly string[] = [];

  constructor(
    private readonly into: HTMLElement,
    private readonly handlers: Handlers,
  ) {
    into.addEventListener("click", (event) => this.clicked(event));
  }

  show(blocks: readonly string[]): void {
    const children = [...this.into.children];
    blocks.forEach((html, n) => {
      if (html === this.shown[n]) return;
      const made = elementsOf(html);
      const [before, after] = [children[n], made[0]];
      if (before instanceof HTMLDetailsElement && after instanceof HTMLDetailsElement) after.open = before.open;
      if (before) before.replaceWith(...made);
      else this.into.append(...made);
    });
    for (const child of children.slice(blocks.length)) child.remove();
    this.shown = blocks;
  }

  private clicked(event: Event): void {
    const target = event.target as Element;
    const citation = target.closest<HTMLElement>("[data-citation]")?.dataset["citation"];
    const copy = target.closest<HTMLElement>("button.copy");
    if (citation !== undefined) {
      event.preventDefault();
      this.handlers.openCitation(Number(citation));
    } else if (copy) {
      const code = [...copy.parentElement!.querySelectorAll("code")].map(({ textContent }) => textContent).join("");
      this.handlers.copy(code.replace(/\n$/, ""));
      copy.textContent = "Copied";
      copy.addEventListener("blur", () => (copy.textContent = "Copy"), { once: true });
    }
  }
}

/** A sentence of the server, with its code as code. */
export function sentence(text: string): Node[] {
  return elementsOf(sentenceHtml(text));
}

/** A link that opens lines in the editor. It has no address, so the browser follows none. */
export function locationLink(text: string, open: () => void): HTMLElement {
  const follow = (event: Event): void => {
    event.preventDefault();
    open();
  };
  return element("a", { href: "#", class: "place", title: `Open ${text}`, onclick: follow }, ...breakableNodes(text));
}

/** A text that is broken within long paths, if it must be, behind `/`, `.` and `_`. */
export function breakableNodes(text: string): Node[] {
  const node = (part: string): Node =>
    WITH_LINES.test(part) ? element("span", { class: "whole" }, part) : document.createTextNode(part);
  return breakableParts(text).flatMap((part, n) => [...(n ? [element("wbr")] : []), node(part)]);
}
