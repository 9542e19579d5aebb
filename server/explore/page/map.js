// The map of one level: boxes by lines of code, calls between them, hot spots, and what is not indexed.

import { crumbs, symbolLink, to, toSymbol } from "./address.js";
import { view } from "./api.js";
import { boxes, sumsOf } from "./boxes.js";
import { bar, counted, empty, h, list, number, section, soft, table } from "./dom.js";
import { panel } from "./panel.js";

const MAX_PAIRS = 15;

const KINDS = { file: ["definition"], folder: ["entry", "entries"], folders: ["folder"] };

export async function showMap(args, { signal, onShown }) {
  const path = args.path ?? "";
  const level = await view("map", { path, start: Number(args.start) || 0 }, signal);
  const content = level.nodes.length ? overview(level, path, signal, onShown) : [empty(nothing(level))];
  return [
    crumbs(level.root, level.path),
    h("h1", {}, level.path || level.root || "Workspace"),
    soft(`${counted(level.nNodes, ...KINDS[level.kind])}, ${counted(level.nLines, "line")}. `,
      level.kind === "file" && h("a", { href: to("file", { path }) }, "Show the file")),
    ...content,
    level.kind === "folder" && notIndexed(level),
  ].filter(Boolean);
}

/** The boxes at once; their calls, which take longer in a large repository, follow. */
function overview(level, path, signal, onShown) {
  const picture = boxes(level.nodes, { address: (node) => address(node, level), label, words });
  const beside = h("div", { class: "beside" });
  const below = h("div");
  onShown(() => panel(beside, signal)(async (own) => {
    const calls = await view("calls", { path }, own);
    picture.addCalls(calls);
    below.replaceChildren(allBoxes(level, calls));
    return [hotSpots(calls.hot), pairs(level, calls)];
  }));
  return [h("div", { class: "overview" }, picture.element, beside), pages(level, path), below];
}

const nothing = (level) => (level.kind === "file" ? "This file defines nothing that the map could show."
  : "No file here is indexed. Weft indexes source code and documents that git does not ignore.");

function address(node, level) {
  if (level.kind === "file") return toSymbol({ symbol: node.name, path: level.path, line: node.line });
  return to("map", { path: node.path });
}

/** The name in a box: of a method without its class, which the words below it have. */
const label = (node) => (isDefinition(node) ? node.name.split(".").pop() : node.name);

const isDefinition = (node) => node.kind !== "folder" && node.kind !== "file";

function words(node) {
  const owner = isDefinition(node) && node.name.split(".").slice(0, -1).join(".");
  const inside = node.kind === "folder" ? counted(node.files, "file")
    : node.kind !== "file" ? node.kind : node.definitions > 0 && counted(node.definitions, "definition");
  return [owner && `in ${owner}`, counted(node.lines, "line"), inside].filter(Boolean).join(", ");
}

/** Links to the other pages of a level that has more boxes than are shown at a time. */
function pages(level, path) {
  const last = level.start + level.nodes.length;
  if (last - level.start === level.nNodes) return null;
  return h("p", {}, `Boxes ${number(level.start + 1)} to ${number(last)} of ${number(level.nNodes)}, largest first. `,
    level.start > 0 && h("a", { href: to("map", { path }) }, "First"), " ",
    last < level.nNodes && h("a", { href: to("map", { path, start: last }) }, "Next"));
}

function hotSpots(hot) {
  const most = hot[0]?.calls;
  const row = (each) => [symbolLink(each), h("span", { class: "count" }, number(each.calls)),
    h("span", { class: "soft where" }, each.path), bar(each.calls / most)];
  return section("Hot spots", hot.length
    ? [soft("The definitions with the most calls"), h("ol", { class: "plain hot" }, hot.map((each) => h("li", {}, row(each))))]
    : empty("Nothing here is called."));
}

function pairs(level, calls) {
  const named = new Map(level.nodes.map((node) => [node.id, node]));
  const end = (id) => (named.has(id) ? h("a", { href: address(named.get(id), level) }, id) : id || "elsewhere");
  const rows = calls.edges.slice(0, MAX_PAIRS).map((edge) => [end(edge.from), end(edge.to), edge.calls]);
  return section("Calls", rows.length
    ? table(`The strongest of ${counted(calls.nEdges, "pair")}; elsewhere is the rest of the workspace`, ["from", "to", "calls"], rows)
    : empty("No call that Weft resolved connects these boxes."));
}

function allBoxes(level, calls) {
  const sums = sumsOf(level.nodes, calls);
  const inside = (node) => (level.kind === "file" ? node.kind : node.files || node.definitions);
  const heads = ["name", "lines", { file: "kind", folder: "files or definitions", folders: "files" }[level.kind], "calls in", "calls out"];
  const rows = level.nodes.map((node, at) => [
    h("a", { href: address(node, level) }, node.name), node.lines, inside(node), sums[at].in, sums[at].out]);
  return h("details", {}, h("summary", {}, "All boxes as a table"), table("Largest first", heads, rows));
}

function notIndexed(level) {
  const left = level.nNotIndexed - level.notIndexed.length;
  const rows = level.notIndexed.map((each) => [h("code", {}, each.name), " ", h("span", { class: "soft" }, each.reason)]);
  return h("details", { open: !level.nodes.length }, h("summary", {}, `Not indexed (${number(level.nNotIndexed)})`),
    rows.length ? list(rows) : empty("Everything in this folder is indexed."),
    left > 0 && soft(`${number(left)} more are not shown.`));
}
