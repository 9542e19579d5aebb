// Fragments of a ranking: their scores in parts, what changed since the ranking before, and what was left out.

import { place } from "./address.js";
import { code, empty, h, list, number, section, soft } from "./dom.js";

const COLOURS = 8; // of parts of a score; all further parts have the last one

const where = (each) => `${each.path}:${each.startLine + 1}-${each.endLine}`;

const key = (fragment) => where(fragment.places[0]);

/** The nodes for an answer of the view `retrieval`; `before` are the fragments of an earlier one, or null. */
export function fragments(found, line, before) {
  const most = Math.max(...found.fragments.map((each) => each.score));
  const names = [...new Set(found.fragments.flatMap((each) => each.parts.map((part) => part.name)))];
  const colour = (name) => `part${Math.min(names.indexOf(name), COLOURS - 1)}`;
  const earlier = before && new Map(before.map((each, at) => [key(each), { at, score: each.score }]));
  const items = found.fragments.map((each, at) => fragment(each, at, most, colour, earlier));
  const timings = Object.entries(found.timingsMs).map(([name, ms]) => `${name} ${ms.toFixed(1)} ms`).join(", ");
  const left = found.leftOut.map((each) => [place(each.path, each.startLine + 1, where(each)), " ", h("span", { class: "soft" }, each.reason)]);
  return [section(`Fragments for line ${line}, by ${found.strategy}`,
    names.length > 0 && h("p", { class: "legend" }, names.map((name) => h("span", {}, h("i", { class: colour(name) }), name))),
    items.length ? h("ol", { class: "plain fragments" }, items) : empty("No fragment is related to this line."),
    left.length > 0 && h("details", {}, h("summary", {}, `Left out (${number(found.nLeftOut)})`), list(left)),
    timings && soft(timings))];
}

function fragment(each, at, most, colour, earlier) {
  const [first, ...others] = each.places;
  const total = each.parts.reduce((sum, part) => sum + Math.abs(part.value), 0) || 1;
  const pieces = each.parts.map((part) => {
    const piece = h("span", { class: colour(part.name) });
    piece.style.width = `${(100 * Math.abs(part.value) * Math.max(0, each.score)) / total / most}%`;
    return piece;
  });
  const parts = each.parts.map((part) => [h("i", { class: `key ${colour(part.name)}` }),
    `${part.name} ${part.value.toPrecision(3)} `, detail(part.detail)]);
  return h("li", {}, h("details", {},
    h("summary", {},
      h("span", { class: "rank" }, `${at + 1}`),
      h("span", { class: "what" }, h("strong", {}, each.symbol || "top level"), each.isOutline && " outline",
        h("span", { class: "soft where" }, where(first))),
      h("span", { class: "score" }, each.score.toPrecision(4), earlier && change(earlier.get(key(each)), at, each.score)),
      h("span", { class: "bar", "aria-hidden": "true" }, pieces)),
    h("p", {}, place(first.path, first.startLine + 1, "Open the file there")),
    list(parts),
    each.way.length > 0 && [soft("Strongest path of relations:"), h("ol", {}, each.way.map((step) => h("li", {}, h("code", {}, step))))],
    others.length > 0 && soft(`The same text is at ${others.map(where).join(", ")}.`),
    code(each.text, `Text of fragment ${at + 1}`)));
}

/** What changed since the ranking before: the rank and the score that the fragment had. */
function change(was, at, score) {
  if (!was) return h("span", { class: "moved" }, "new");
  if (was.at === at && was.score === score) return null;
  const rank = was.at === at ? "" : ` at ${was.at + 1}`;
  return h("span", { class: "moved" }, `was ${was.score.toPrecision(4)}${rank}`);
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
