// The map of one level: boxes by lines of code, calls between them as curves, hot spots, and what is not indexed.

import { view } from "./api.js";
import { counted, crumbs, h, list, number, place, s, section, table, to } from "./dom.js";
import { treemap } from "./treemap.js";

const WIDTH = 1000;
const HEIGHT = 520;
const CURVES = 24; // strongest first; more hide the boxes, so they appear for a chosen box only
const HEATS = 5;

export async function showMap(content, args, { start, signal }) {
  const path = args.path ?? "";
  const first = Number(args.start) || 0;
  const level = await view("map", { path, start: first }, signal);
  const boxes = treemap(level.nodes.map((node) => Math.max(1, node.lines) ** 0.7), WIDTH, HEIGHT);
  const picture = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "map", role: "group", "aria-label": "Map" });
  const links = level.nodes.map((node, at) => box(node, boxes[at], level));
  picture.append(...links);
  const below = h("div");
  content.append(
    crumbs(level.root, level.path),
    h("h1", {}, level.path || level.root || "Workspace"),
    h("p", { class: "soft" }, summary(level), level.kind === "file" ? [" ", place(path, 1, "Show the file")] : ""),
    level.nodes.length ? picture : h("p", { class: "empty" }, "Nothing is indexed here, or it has no definitions."),
    h("p", { class: "legend" }, h("span", {}, "Area: lines of code"),
      h("span", {}, "Calls from the other boxes: few ",
        [...Array(HEATS).keys()].map((heat) => h("i", { class: `heat${heat}` })), " many"),
      h("span", {}, "Curves: calls, the wider the more; point at a box for its own")),
    pages(level, path),
    below,
  );
  // The calls of a large repository take longer than its boxes.
  view("calls", { path }, signal).then((calls) => {
    addCalls(picture, links, level, boxes, calls);
    below.append(details(level, calls));
  }, (error) => {
    if (error.name !== "AbortError") below.append(h("p", { class: "error", role: "alert" }, error.message));
  });
}

function summary(level) {
  const what = { file: ["definition"], folder: ["entry", "entries"], folders: ["folder"] }[level.kind];
  return `${counted(level.nNodes, ...what)}, ${counted(level.nLines, "line")}.`;
}

function address(node, level) {
  if (level.kind === "file") return to("symbol", { symbol: node.name, path: level.path, line: node.line });
  return to("map", { path: node.path });
}

function words(node) {
  const inside = node.kind === "folder" ? counted(node.files, "file") : node.kind === "file"
    ? counted(node.definitions, "definition") : node.kind;
  return `${counted(node.lines, "line")}, ${inside}`;
}

function box(node, { x, y, w, h: height }, level) {
  const characters = Math.floor((w - 10) / 7.2);
  const cut = (text) => (text.length <= characters ? text : `${text.slice(0, Math.max(0, characters - 1))}…`);
  const link = s("a", { href: address(node, level), class: `box ${node.kind} heat0` }, s("title", {}, `${node.name}\n${words(node)}`), s("rect", { x, y, width: w, height, rx: 3 }));
  if (characters >= 4 && height > 18) link.append(s("text", { class: "name", x: x + 6, y: y + 16 }, cut(node.name)));
  if (characters >= 9 && height > 34) link.append(s("text", { class: "small", x: x + 6, y: y + 31 }, cut(words(node))));
  return link;
}

function addCalls(picture, links, level, boxes, calls) {
  const at = new Map(level.nodes.map((node, number) => [node.id, number]));
  const arriving = level.nodes.map(() => 0);
  for (const edge of calls.edges) if (at.has(edge.to)) arriving[at.get(edge.to)] += edge.calls;
  const most = Math.max(1, ...arriving);
  arriving.forEach((n, number) => {
    const heat = n ? Math.ceil((HEATS - 1) * Math.sqrt(n / most)) : 0;
    links[number].classList.replace("heat0", `heat${heat}`);
  });
  const shown = calls.edges.filter((edge) => at.has(edge.from) && at.has(edge.to));
  const curves = shown.map((edge) => curve(boxes[at.get(edge.from)], boxes[at.get(edge.to)], edge));
  curves.slice(CURVES).forEach((each) => each.classList.add("weak"));
  picture.append(s("g", { "aria-hidden": "true" }, curves));
  level.nodes.forEach((node, number) => {
    const isOwn = (edge) => edge.from === node.id || edge.to === node.id;
    const pick = (on) => () => {
      picture.classList.toggle("picked", on && shown.some(isOwn));
      shown.forEach((edge, n) => curves[n].classList.toggle("on", on && isOwn(edge)));
    };
    for (const name of ["pointerenter", "focus"]) links[number].addEventListener(name, pick(true));
    for (const name of ["pointerleave", "blur"]) links[number].addEventListener(name, pick(false));
  });
}

function curve(from, to_, edge) {
  const centre = (box_) => [box_.x + box_.w / 2, box_.y + box_.h / 2];
  const [[x1, y1], [x2, y2]] = [centre(from), centre(to_)];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const bend = Math.min(60, length / 4); // to the right, so that two directions are two curves
  const [mx, my] = [(x1 + x2) / 2 - (bend * (y2 - y1)) / length, (y1 + y2) / 2 + (bend * (x2 - x1)) / length];
  const width = Math.min(8, 1 + Math.log2(edge.calls) / 1.5);
  const [dx, dy] = [x2 - mx, y2 - my];
  const unit = Math.hypot(dx, dy) || 1;
  const [ux, uy] = [dx / unit, dy / unit];
  const size = 5 + width;
  const tip = [[x2, y2], [x2 - ux * size - uy * size / 2, y2 - uy * size + ux * size / 2],
    [x2 - ux * size + uy * size / 2, y2 - uy * size - ux * size / 2]];
  return s("g", { class: "edge" }, s("path", { d: `M${x1} ${y1}Q${mx} ${my} ${x2} ${y2}`, "stroke-width": width }),
    s("polygon", { class: "arrow", points: tip.map((point) => point.join(",")).join(" ") }));
}

function pages(level, path) {
  const step = level.nodes.length;
  if (step === level.nNodes) return "";
  const last = level.start + step;
  return h("p", {}, `Boxes ${level.start + 1} to ${last} of ${number(level.nNodes)}, largest first. `,
    level.start ? h("a", { href: to("map", { path }) }, "First") : "", " ",
    last < level.nNodes ? h("a", { href: to("map", { path, start: last }) }, "Next") : "");
}

function details(level, calls) {
  const named = new Map(level.nodes.map((node) => [node.id, node]));
  const end = (id) => (id === "" ? "elsewhere" : named.has(id)
    ? h("a", { href: address(named.get(id), level) }, id) : id);
  const sums = new Map(level.nodes.map((node) => [node.id, [0, 0]]));
  for (const edge of calls.edges) {
    if (sums.has(edge.to)) sums.get(edge.to)[0] += edge.calls;
    if (sums.has(edge.from)) sums.get(edge.from)[1] += edge.calls;
  }
  const isShown = (_, column) => column !== 2 || level.kind !== "file"; // a definition has nothing inside
  const rows = level.nodes.map((node) => [
    h("a", { href: address(node, level) }, node.name), node.lines, node.files || node.definitions, ...sums.get(node.id)]);
  const hot = calls.hot.map((each) => [
    h("a", { href: to("symbol", { symbol: each.symbol, path: each.path, line: each.line }) }, each.symbol),
    ` ${counted(each.calls, "call")}, `, place(each.path, each.line)]);
  const missing = level.notIndexed.map((each) => [h("code", {}, each.name), ` ${each.reason}`]);
  return h("div", { class: "columns" },
    section("Calls between them", calls.edges.length
      ? table(`The strongest of ${counted(calls.nEdges, "pair")}`, ["from", "to", "calls"],
        calls.edges.slice(0, 15).map((edge) => [end(edge.from), end(edge.to), edge.calls]))
      : h("p", { class: "empty" }, "No resolved calls.")),
    section("Hot spots", hot.length ? list(hot) : h("p", { class: "empty" }, "Nothing here is called.")),
    level.kind === "folder" ? section(`Not indexed (${number(level.nNotIndexed)})`,
      missing.length ? list(missing) : h("p", { class: "empty" }, "Everything in this folder is indexed.")) : "",
    section("All boxes", table("Largest first", ["name", "lines", "inside", "calls in", "calls out"].filter(isShown),
      rows.map((row) => row.filter(isShown)))));
}
