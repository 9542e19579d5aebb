// The search of the header: suggestions while one types, and the view with all results.

import { open as openAddress, place, to, toSymbol } from "./address.js";
import { view } from "./api.js";
import { empty, h, preview, soft } from "./dom.js";

const MIN_LETTERS = 2;
const MAX_SUGGESTIONS = 9;

const input = document.getElementById("query");
const suggestions = document.getElementById("suggestions");

const isSymbol = (hit) => hit.symbol && hit.kind !== "code";

/** The address of a hit: the symbol that it defines, else its lines. The lines of hits are 0-based. */
const address = (hit) => (isSymbol(hit) ? toSymbol({ ...hit, line: hit.line + 1 })
  : to("file", { path: hit.path, line: hit.line + 1 }));

const title = (hit) => (isSymbol(hit) ? hit.symbol : hit.path.split("/").pop());

/** Search while one types, one request at a time: a slow one is followed by one for the newest text alone. */
export function searchBox(leave) {
  let chosen = -1; // the number of the suggestion that Enter opens
  let isAsking = false;

  async function ask() {
    if (isAsking) return;
    isAsking = true;
    input.setAttribute("aria-busy", "true");
    let query;
    let hits;
    do {
      query = input.value.trim();
      hits = query.length < MIN_LETTERS ? [] : await view("search", { query }).then((found) => found.hits, () => []);
    } while (input.value.trim() !== query);
    isAsking = false;
    input.setAttribute("aria-busy", "false");
    open(document.activeElement === input ? hits.slice(0, MAX_SUGGESTIONS) : []);
  }

  function open(hits) {
    chosen = -1;
    suggestions.replaceChildren(...hits.map((hit, at) => h("li", { role: "option", id: `hit-${at}`, "aria-selected": "false" },
      h("a", { href: address(hit), tabindex: -1 }, h("strong", {}, title(hit)), " ",
        h("span", { class: "soft" }, `${hit.kind} ${hit.path}:${hit.line + 1}`)))));
    suggestions.hidden = !hits.length;
    input.setAttribute("aria-expanded", String(hits.length > 0));
    input.removeAttribute("aria-activedescendant");
  }

  const close = () => open([]);

  function choose(step) {
    const options = [...suggestions.children];
    if (!options.length) return;
    options[chosen]?.setAttribute("aria-selected", "false");
    chosen = (chosen + step + options.length + (chosen < 0 && step < 0 ? 1 : 0)) % options.length;
    options[chosen].setAttribute("aria-selected", "true");
    input.setAttribute("aria-activedescendant", options[chosen].id);
  }

  const keys = {
    ArrowDown: () => choose(1),
    ArrowUp: () => choose(-1),
    Escape: () => (suggestions.hidden ? leave() : close()),
  };
  input.addEventListener("input", ask);
  input.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  input.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const query = input.value.trim();
    const link = suggestions.children[chosen]?.querySelector("a");
    close();
    if (link) {
      leave();
      openAddress(link.hash);
    } else if (query) openAddress(to("search", { query }));
  });
  input.form.addEventListener("focusout", (event) => input.form.contains(event.relatedTarget) || close());
  suggestions.addEventListener("pointerdown", (event) => event.preventDefault()); // the focus stays in the box
  suggestions.addEventListener("click", close);
  document.addEventListener("keydown", (event) => {
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    input.select();
  });
}

export async function showSearch(args, { signal }) {
  const query = args.query ?? "";
  const found = await view("search", { query }, signal);
  const result = (hit) => h("li", {}, h("a", { href: address(hit) }, title(hit)), " ",
    h("span", { class: "soft" }, hit.kind, " ", place(hit.path, hit.line + 1)),
    preview(hit.preview));
  return [
    h("h1", {}, `Search: ${query}`),
    found.hits.length ? h("ol", { class: "plain results" }, found.hits.map(result)) : empty("Nothing found."),
    ...found.notes.map((note) => soft(note)),
  ];
}
