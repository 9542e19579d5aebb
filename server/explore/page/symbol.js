// A symbol: its callers on the left, its definition, its callees on the right; below, relations and uses.

import { place, symbolLink, to } from "./address.js";
import { view } from "./api.js";
import { bar, code, counted, empty, h, list, number, preview, section, soft } from "./dom.js";
import { panel } from "./panel.js";
import { pathForm } from "./path.js";

export async function showSymbol(args, { signal }) {
  const wanted = { symbol: args.symbol ?? "", path: args.path ?? "", line: Number(args.line) || 0 };
  const found = await view("symbol", wanted, signal);
  const [first, ...others] = found.definitions.entries;
  return [
    h("h1", {}, found.name),
    h("p", {}, place(found.path, found.line), " ", h("a", { href: to("map", { path: found.path }) }, "Map of the file")),
    h("div", { class: "around" },
      entries(found.callers, "Callers"),
      h("div", { class: "centre" }, definition(first, found.name), others.length > 0 && h("details", {},
        h("summary", {}, counted(others.length, "more definition")), others.map((each) => definition(each, found.name)))),
      entries(found.callees, "Callees")),
    h("div", { class: "columns" },
      section("Relations", soft("Fragments of other files that are related by syntax and calls, strongest first"),
        found.related.length ? list(found.related.map((each) => related(each, found.related[0].strength))) : empty("None.")),
      plain("Overrides", found.overrides), plain("Subclasses", found.subclasses),
      section("Path to another symbol", pathForm(`${found.path}:${found.line} ${found.name.split(".").pop()}`, ""))),
    uses(wanted, signal),
  ];
}

const definition = (each, name) => section(`Definition in ${each.place}`, code(each.code || each.text, `Definition of ${name} in ${each.place}`));

/** References and the impact of an edit, which are searched when they are opened. */
function uses(wanted, signal) {
  const content = h("div", { class: "columns" });
  const element = h("details", {}, h("summary", {}, "References, and what an edit makes necessary"), content);
  element.addEventListener("toggle", () => panel(content, signal)(async (own) => {
    const found = await view("uses", wanted, own);
    return [entries(found.references, "References"), entries(found.impact, "Impact")];
  }), { once: true });
  return element;
}

const related = (each, most) => [place(each.path, each.line, each.place), " ", each.symbol,
  h("span", { class: "count" }, number(each.strength)), bar(each.strength / most)];

function entry(each) {
  return [
    each.symbol && each.line ? [symbolLink(each), " "] : each.symbol && `${each.symbol} `,
    each.line ? place(each.path, each.line, each.place) : each.place,
    each.text && preview(each.text),
  ];
}

/** A section with the entries of an answer, by their parts. */
function entries(answer, title) {
  const parts = new Map();
  for (const each of answer.entries) parts.set(each.section, [...(parts.get(each.section) ?? []), entry(each)]);
  return section(title, soft(answer.title),
    [...parts].map(([name, items]) => [name && h("h3", {}, name), list(items)]),
    answer.nLeft > 0 && soft(`${number(answer.nLeft)} more are not shown.`),
    answer.notes.map((note) => soft(note)));
}

const plain = (title, items) => items.length > 0 && section(title, list(items.map(entry)));
