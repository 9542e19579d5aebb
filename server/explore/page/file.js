// A file, and retrieval at one of its lines: fragments with their scores in parts, and what was left out.

import { view } from "./api.js";
import { counted, crumbs, h, list, number, place, section, to } from "./dom.js";

const PARTS = 5; // colours

export async function showFile(content, args, { start, signal }) {
  const path = args.path ?? "";
  const wanted = Math.max(1, Number(args.line) || 1);
  const file = await view("file", { path, line: wanted }, signal);
  const results = h("div", { "aria-live": "polite" }, h("p", { class: "soft" },
    "Click a line, or go to it with the arrow keys and press Enter: these are the fragments that a prompt would get there."));
  const completed = h("div", { "aria-live": "polite" });
  const state = { line: wanted, order: null };
  const controls = form(start, () => state.asked && retrieve());
  const lines = listing(file, wanted, (line) => {
    state.line = line;
    history.replaceState(null, "", to("file", { path, line }));
    completed.replaceChildren();
    retrieve();
  });
  let newest = 0;

  async function retrieve() {
    state.asked = true;
    const number_ = (newest += 1);
    const { strategy, alphaPercent, k } = controls.values();
    try {
      const found = await view("retrieval", { path, line: state.line, strategy, alphaPercent, k }, signal);
      if (number_ !== newest) return;
      const before = state.line === state.shown ? state.order : null;
      results.replaceChildren(...fragments(found, state.line, before));
      state.order = new Map(found.fragments.map((each, at) => [key(each), { at, score: each.score }]));
      state.shown = state.line;
    } catch (error) {
      if (error.name !== "AbortError") results.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  async function complete() {
    completed.replaceChildren(h("p", { class: "soft" }, "Completing …"));
    try {
      completed.replaceChildren(completion(await view("completion", { path, line: state.line }, signal)));
    } catch (error) {
      if (error.name !== "AbortError") completed.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
    }
  }

  const last = file.start + file.lines.length - 1;
  const more = last - file.start + 1 < file.nLines ? h("p", {}, `Lines ${file.start} to ${last} of ${number(file.nLines)}. `,
    file.start > 1 ? h("a", { href: to("file", { path, line: Math.max(1, file.start - 250) }) }, "Earlier") : "", " ",
    last < file.nLines ? h("a", { href: to("file", { path, line: last + 250 }) }, "Later") : "") : "";
  content.append(
    crumbs(start.folders.length === 1 ? start.folders[0].path.split("/").pop() : "", file.path),
    h("h1", {}, file.path),
    h("p", { class: "soft" }, `${file.language || "text"}, ${counted(file.nLines, "line")}. `,
      h("a", { href: to("map", { path }) }, "Map of its definitions")),
    h("div", { class: "place" },
      h("div", {}, more, lines),
      h("aside", { class: "panel", "aria-label": "Retrieval" }, controls.element,
        h("p", {}, h("button", { type: "button", onclick: complete }, "Complete at the end of the line")),
        completed, results)),
  );
  requestAnimationFrame(() => {
    const row = lines.querySelector('[aria-selected="true"]');
    if (row) lines.scrollTop = row.offsetTop - lines.offsetTop - lines.clientHeight / 2;
  });
  if (args.line) retrieve();
}

function listing(file, selected, onPick) {
  const id = (line) => `line-${line}`;
  const rows = file.lines.map((text, at) => h("div", {
    role: "option", id: id(file.start + at), "data-line": file.start + at, "aria-selected": file.start + at === selected,
    "aria-label": `${file.start + at}: ${text}`,
  }, text || " "));
  let at = Math.min(Math.max(0, selected - file.start), rows.length - 1);
  const box = h("div", { class: "lines code", role: "listbox", tabindex: 0, "aria-label": `Lines of ${file.path}` }, rows);
  const select = (next) => {
    rows[at].setAttribute("aria-selected", "false");
    at = Math.min(Math.max(0, next), rows.length - 1);
    rows[at].setAttribute("aria-selected", "true");
    box.setAttribute("aria-activedescendant", rows[at].id);
    rows[at].scrollIntoView({ block: "nearest" });
  };
  box.addEventListener("click", (event) => {
    const row = event.target.closest("[data-line]");
    if (!row) return;
    select(rows.indexOf(row));
    onPick(Number(row.dataset.line));
  });
  box.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -rows.length, End: rows.length }[event.key];
    if (step) select(at + step);
    else if (event.key === "Enter") onPick(Number(rows[at].dataset.line));
    else return;
    event.preventDefault();
  });
  return box;
}

function form(start, onChange) {
  const strategy = h("select", { id: "strategy" }, start.strategies.map((name) => h("option", {
    value: name, selected: name === start.strategy ? "" : null }, name)));
  const alpha = h("input", { id: "alpha", type: "range", min: 0, max: 100, step: 5, value: start.alphaPercent });
  const shown = h("output", { for: "alpha" });
  const k = h("input", { id: "k", type: "number", min: 1, max: 50, value: start.k });
  const update = () => {
    alpha.disabled = strategy.value !== "fragrel";
    shown.textContent = (alpha.value / 100).toFixed(2);
  };
  update();
  for (const each of [strategy, alpha, k]) each.addEventListener("change", () => { update(); onChange(); });
  alpha.addEventListener("input", update);
  const values = () => ({
    strategy: strategy.value, alphaPercent: Number(alpha.value), k: Math.min(50, Math.max(1, Number(k.value) || start.k)),
  });
  const element = h("form", { "aria-label": "Ranking", onsubmit: (event) => event.preventDefault() },
    h("label", { for: "strategy" }, "Strategy"), strategy,
    h("label", { for: "alpha" }, "alpha (relations)"), alpha, shown, h("label", { for: "k" }, "Fragments"), k);
  return { element, values };
}

const where = (each) => `${each.path}:${each.startLine + 1}-${each.endLine}`;

const key = (fragment) => where(fragment.places[0]);

function fragments(found, line, before) {
  const most = Math.max(1e-9, ...found.fragments.map((each) => each.score));
  const names = [...new Set(found.fragments.flatMap((each) => each.parts.map((part) => part.name)))];
  const items = found.fragments.map((each, at) => fragment(each, at, most, before, names));
  const timings = Object.entries(found.timingsMs).map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`).join(", ");
  const left = found.leftOut.map((each) => [place(each.path, each.startLine + 1, where(each)), ` ${each.reason}`]);
  return [
    h("h2", {}, `Fragments for line ${line} (${found.strategy})`),
    items.length ? h("ol", { class: "plain fragments" }, items) : h("p", { class: "empty" }, "No fragment is related."),
    left.length ? h("details", { open: "" }, h("summary", {}, `Left out (${number(found.nLeftOut)})`), list(left)) : "",
    timings ? h("p", { class: "soft" }, timings) : "",
  ];
}

/** What has changed since the earlier request for this line: the rank and the score. */
function moved(each, at, before) {
  const was = before?.get(key(each));
  if (!before || (was?.at === at && was.score === each.score)) return "";
  const rank = was?.at === at ? "" : ` was ${(was?.at ?? 0) + 1}.`;
  return h("span", { class: "moved" }, was ? `${rank} before ${was.score.toPrecision(4)}` : " new");
}

/** A detail of a score; places in it, such as the neighbours of an environment, are links. */
function detail(text) {
  const pieces = text.split(/([^\s,]+:\d+-\d+)/);
  return h("span", { class: "soft" }, pieces.map((piece, n) => {
    if (n % 2 === 0) return piece;
    const at = piece.lastIndexOf(":");
    return place(piece.slice(0, at), parseInt(piece.slice(at + 1), 10), piece);
  }));
}

function fragment(each, at, most, before, names) {
  const first = each.places[0];
  const total = each.parts.reduce((sum, part) => sum + Math.abs(part.value), 0) || 1;
  const colour = (part) => `part${Math.min(names.indexOf(part.name), PARTS - 1)}`;
  const pieces = each.parts.map((part) => {
    const piece = h("span", { class: colour(part) });
    piece.style.width = `${(100 * Math.abs(part.value) * Math.max(0, each.score)) / total / most}%`;
    return piece;
  });
  const parts = each.parts.map((part) => h("li", {}, h("span", { class: `key ${colour(part)}` }),
    `${part.name} ${part.value.toPrecision(3)} `, detail(part.detail)));
  return h("li", {}, h("details", {},
    h("summary", {}, `${at + 1}. ${where(first)} `, h("strong", {}, each.symbol),
      each.isOutline ? " outline" : "", moved(each, at, before), h("span", { class: "score" }, each.score.toPrecision(4)),
      h("div", { class: "bar", "aria-hidden": "true" }, pieces)),
    h("p", {}, place(first.path, first.startLine + 1, "Go to its first line")),
    h("ul", { class: "plain" }, parts),
    each.way.length ? [h("p", { class: "soft" }, "Strongest path of relations:"),
      h("ol", {}, each.way.map((step) => h("li", {}, h("code", {}, step))))] : "",
    each.places.length > 1 ? h("p", { class: "soft" }, `Also at ${each.places.slice(1).map(where).join(", ")}`) : "",
    h("pre", { tabindex: 0 }, each.text)));
}

function completion(found) {
  return section("Completion",
    found.text ? h("pre", { tabindex: 0 }, found.text) : h("p", { class: "empty" }, "No text."),
    h("p", { class: "soft" }, `${found.model}. ${found.whyHidden ? `Hidden while typing: ${found.whyHidden}.` : "Shown while typing."}`),
    list((found.reasons ?? []).map((each) => [each])));
}
