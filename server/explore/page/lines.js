// The lines of a file as a list in which one is chosen, by a click or with the keyboard.

import { h } from "./dom.js";

const PAGE = 20; // lines that the keys for a page move by
const BLOCK = 40; // lines that are laid out together, when they come into view

/**
 * The list of `file.lines`, and `scrollToChosen()` for when it is in the page. `onChoose(line)` is called for a click
 * and for Enter; the arrow keys only move.
 */
export function listing(file, chosen, onChoose) {
  const rows = file.lines.map((text, at) => h("div", {
    role: "option", id: `line-${file.start + at}`, "data-line": file.start + at, "aria-selected": "false",
    "aria-label": text.trim() ? null : "empty line" }, text || " "));
  const blocks = [];
  for (let from = 0; from < rows.length; from += BLOCK) blocks.push(block(rows.slice(from, from + BLOCK)));
  const element = h("div", { class: "lines", role: "listbox", tabindex: 0, "aria-label": `Lines of ${file.path}` }, blocks);
  let at = 0;

  function move(next) {
    rows[at].setAttribute("aria-selected", "false");
    at = Math.min(Math.max(0, next), rows.length - 1);
    rows[at].setAttribute("aria-selected", "true");
    element.setAttribute("aria-activedescendant", rows[at].id);
  }

  element.addEventListener("click", (event) => {
    const row = event.target.closest("[data-line]");
    if (!row) return;
    move(rows.indexOf(row));
    onChoose(file.start + at);
  });
  element.addEventListener("keydown", (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: PAGE, PageUp: -PAGE, Home: -rows.length, End: rows.length };
    if (event.key === "Enter") onChoose(file.start + at);
    else if (steps[event.key]) {
      move(at + steps[event.key]);
      rows[at].scrollIntoView({ block: "nearest" });
    } else return;
    event.preventDefault();
  });
  move(chosen - file.start);
  const scrollToChosen = () => {
    element.scrollTop = rows[at].offsetHeight * (at + 0.5) - element.clientHeight / 2;
  };
  return { element, scrollToChosen };
}

function block(rows) {
  const element = h("div", { class: "block", role: "presentation" }, rows);
  element.style.containIntrinsicBlockSize = `calc(${rows.length} * var(--row))`;
  return element;
}
