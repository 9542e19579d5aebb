// A symbol with its callers, callees and relations, and the path between two symbols.

import { view } from "./api.js";
import { counted, h, list, number, place, s, section, table, to } from "./dom.js";

const MAX_SIDE = 14; // nodes on one side of the graph
const ROW = 34;

export async function showSymbol(content, args, { signal }) {
  const wanted = { symbol: args.symbol ?? "", path: args.path ?? "", line: Number(args.line) || 0 };
  const found = await view("symbol", wanted, signal);
  const definitions = found.definitions.entries;
  const uses = h("details", {}, h("summary", {}, "References, and what an edit makes necessary"));
  uses.addEventListener("toggle", () => uses.open && loadUses(uses, wanted, signal), { once: true });
  content.append(
    h("h1", {}, found.name),
    h("p", {}, place(found.path, found.line), " · ",
      h("a", { href: to("map", { path: found.path }) }, "map of the file")),
    graph(found),
    pathForm(`${found.path}:${found.line} ${found.name.split(".").pop()}`, ""),
    h("div", { class: "columns" }, entries(found.callers, "Callers"), entries(found.callees, "Callees"),
      section("Relations", h("p", { class: "soft" }, "Fragments of other files that are related by syntax and calls"),
        table("Strongest first", ["fragment", "strength"], found.related.map((each) => [
          [place(each.path, each.line, each.place), " ", each.symbol], each.strength]))),
      plain("Overrides", found.overrides), plain("Subclasses", found.subclasses)),
    uses,
    ...definitions.map((each) => section(`Definition in ${each.place}`, h("pre", { tabindex: 0 }, each.code || each.text))),
  );
}

async function loadUses(uses, wanted, signal) {
  try {
    const found = await view("uses", wanted, signal);
    uses.append(h("div", { class: "columns" }, entries(found.references, "References"), entries(found.impact, "Impact")));
  } catch (error) {
    if (error.name !== "AbortError") uses.append(h("p", { class: "error", role: "alert" }, error.message));
  }
}

function entry(each) {
  const name = each.symbol && each.line
    ? h("a", { href: to("symbol", { symbol: each.symbol, path: each.path, line: each.line }) }, each.symbol) : each.symbol;
  return [name, name ? " " : "", each.line ? place(each.path, each.line, each.place) : each.place,
    each.text ? [h("br"), h("code", { class: "soft" }, each.text)] : ""];
}

function entries(answer, title) {
  const parts = new Map();
  for (const each of answer.entries) parts.set(each.section, [...(parts.get(each.section) ?? []), entry(each)]);
  return section(title, h("p", { class: "soft" }, answer.title),
    [...parts].map(([name, items]) => [name ? h("h3", {}, name) : "", list(items)]),
    answer.nLeft ? h("p", { class: "soft" }, `${number(answer.nLeft)} more are not shown.`) : "",
    answer.notes.map((note) => h("p", { class: "soft" }, note)));
}

const plain = (title, items) => (items.length ? section(title, list(items.map(entry))) : "");

function graph(found) {
  const sides = [found.callers.entries, found.callees.entries].map((side) => {
    const seen = new Map();
    for (const each of side) {
      const key = `${each.path} ${each.symbol}`;
      if (!seen.has(key)) seen.set(key, each);
    }
    return [...seen.values()].slice(0, MAX_SIDE);
  });
  const rows = Math.max(1, ...sides.map((side) => side.length));
  const height = rows * ROW + 10;
  const middle = height / 2;
  const picture = s("svg", { viewBox: `0 0 1000 ${height}`, role: "group", "aria-label": "Callers and callees" });
  const curves = s("g", { "aria-hidden": "true" });
  picture.append(curves);
  sides.forEach((side, right) => side.forEach((each, at) => {
    const y = middle + (at - (side.length - 1) / 2) * ROW;
    const [x1, x2] = right ? [620, 690] : [310, 380];
    curves.append(s("path", { class: "edge", "stroke-width": 2,
      d: right ? `M${x1} ${middle}C655 ${middle} 655 ${y} ${x2} ${y}` : `M${x1} ${y}C345 ${y} 345 ${middle} ${x2} ${middle}` }));
    const href = each.symbol ? to("symbol", { symbol: each.symbol, path: each.path, line: each.line })
      : to("file", { path: each.path, line: each.line });
    picture.append(node(right ? 690 : 0, y, 310, href, each.symbol || "top level", each.place, ""));
  }));
  picture.append(node(380, middle, 240, to("file", { path: found.path, line: found.line }), found.name, found.path, "centre"));
  return picture;
}

function node(x, y, width, href, name, where, kind) {
  const cut = (text, size) => {
    const fits = Math.floor((width - 12) / size);
    return text.length <= fits ? text : `…${text.slice(text.length - fits + 1)}`;
  };
  return s("a", { href, class: `node ${kind}` },
    s("title", {}, `${name}\n${where}`),
    s("rect", { x: x + 1, y: y - ROW / 2 + 2, width: width - 2, height: ROW - 4, rx: 4 }),
    s("text", { x: x + 7, y: y - 2 }, cut(name, 7.4)), s("text", { class: "small", x: x + 7, y: y + 11 }, cut(where, 6.2)));
}

function pathForm(from, target) {
  const field = (name, label, value) => [h("label", { for: name }, label),
    h("input", { id: name, name, value, required: "", size: 34, maxlength: 500, autocomplete: "off" })];
  return h("form", { "aria-label": "Path between two symbols", onsubmit: (event) => {
    event.preventDefault();
    location.hash = to("path", Object.fromEntries(new FormData(event.target)));
  } }, field("from", "Path from", from), field("to", "to", target), h("button", {}, "Show the path"));
}

export async function showPath(content, args, { signal }) {
  content.append(h("h1", {}, "Path between two symbols"), pathForm(args.from ?? "", args.to ?? ""));
  if (!args.from || !args.to) {
    content.append(h("p", { class: "soft" }, "Give two names such as ", h("code", {}, "pay"), " or ", h("code", {}, "Shop.pay"),
      ", or a place and a name such as ", h("code", {}, "shop.py:12 pay"), "."));
    return;
  }
  const found = await view("path", { from: args.from, to: args.to }, signal);
  const symbol = (each) => h("a", { href: to("symbol", { symbol: each.symbol, path: each.path, line: each.line }) }, each.symbol);
  if (found.steps.length) {
    content.append(
      h("p", {}, `${counted(found.steps.length, "step")}, strength ${number(found.strength)}`,
        found.isReversed ? ". The calls lead the other way: from the second symbol to the first." : "."),
      table("Each call with its confidence; the strength is their product", ["caller", "calls", "line", "how", "confidence"],
        found.steps.map((step) => [symbol(step.source), symbol(step.target), place(step.source.path, step.line),
          step.how, step.confidence])));
  } else {
    content.append(h("p", { class: "empty" }, "No call path leads from one to the other."));
  }
  content.append(section("Relation", h("p", {}, "Strength of the code relations, as ",
    "retrieval uses them: ", h("strong", {}, found.relation ? number(found.relation) : "none"), "."),
  found.relationSteps.length ? h("ol", {}, found.relationSteps.map((step) => h("li", {}, h("code", {}, step)))) : ""));
}
