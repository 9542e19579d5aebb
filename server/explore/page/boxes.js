// The picture of a level: a treemap of links, coloured by calls, with a curve for the calls between two boxes.

import { counted, h, number, s } from "./dom.js";
import { treemap } from "./treemap.js";

const PIXELS_PER_CURVE = 40; // of the width; more curves would hide the boxes, so the weaker appear for a chosen box only
const HEATS = 5; // colours of boxes, of which the first is for no calls
const GROWTH = 0.7; // exponent of the lines: small boxes can still be read beside large ones

/**
 * The element with a box for each node, and `addCalls(calls)`, which colours them and draws the curves.
 * `about.address(node)` is where a box leads, `about.label(node)` and `about.words(node)` are what it says.
 */
export function boxes(nodes, about) {
  const links = nodes.map((node, at) => h("a", {
    href: about.address(node), class: `box ${node.kind} heat0`, tabindex: at ? -1 : 0 },
  h("span", { class: "name" }, about.label(node)), " ", h("span", { class: "words" }, about.words(node))));
  const drawing = s("svg", { "aria-hidden": "true" });
  const picture = h("div", { class: "map", role: "group", "aria-label": "Map, arrow keys move between boxes" }, links, drawing);
  const legend = h("div", { class: "legend" }, h("span", {}, "Area grows with lines of code"));
  const pointed = h("p", { class: "pointed soft" }, "Point at a box, or move to it with the arrow keys, to see its calls alone.");
  const weights = nodes.map((node) => Math.max(1, node.lines) ** GROWTH);
  let placed = [];
  let curves = [];

  function layOut() {
    const { clientWidth: width, clientHeight: tall } = picture;
    placed = treemap(weights, width, tall);
    placed.forEach(({ x, y, w, h: height }, at) => {
      const { style, classList } = links[at];
      Object.assign(style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${height}px` });
      classList.toggle("unnamed", w < 34 || height < 20);
      classList.toggle("terse", w < 70 || height < 44);
      classList.toggle("tall", w > 96 && height > 84);
    });
    const n = Math.round(width / PIXELS_PER_CURVE);
    curves.forEach((each, at) => {
      each.layOut(placed);
      each.element.classList.toggle("weak", at >= n); // the strongest come first
    });
  }

  function addCalls(calls) {
    const numbers = new Map(nodes.map((node, at) => [node.id, at]));
    const inside = calls.edges.filter((edge) => numbers.has(edge.from) && numbers.has(edge.to));
    curves = inside.map((edge) => curve(numbers.get(edge.from), numbers.get(edge.to), edge.calls));
    drawing.append(...curves.map((each) => each.element));
    const sums = sumsOf(nodes, calls);
    const most = Math.max(...sums.map((sum) => sum.in));
    sums.forEach((sum, at) => links[at].classList.replace("heat0", `heat${heat(sum.in, most)}`));
    legend.append(scale(most));
    if (calls.nEdges > calls.edges.length) {
      legend.append(h("span", {}, `Curves of the strongest ${number(calls.edges.length)} of ${number(calls.nEdges)} pairs`));
    }
    if (curves.length) legend.append(h("span", {}, "Curves are calls, the wider the more; their arrows point at what is called"));
    links.forEach((link, at) => {
      const point = () => {
        picture.classList.add("picked");
        curves.forEach((each) => each.element.classList.toggle("on", each.from === at || each.to === at));
        pointed.replaceChildren(h("strong", {}, nodes[at].name), ` ${about.words(nodes[at])}. `,
          `${counted(sums[at].in, "call")} to it and ${number(sums[at].out)} out of it.`);
      };
      for (const name of ["pointerenter", "focus"]) link.addEventListener(name, point);
      for (const name of ["pointerleave", "blur"]) link.addEventListener(name, () => picture.classList.remove("picked"));
    });
    layOut();
  }

  picture.addEventListener("keydown", (event) => move(event, links, placed));
  new ResizeObserver(layOut).observe(picture);
  return { element: h("figure", {}, picture, pointed, legend), addCalls };
}

/** The calls to and out of each node. */
export function sumsOf(nodes, calls) {
  const sums = new Map(calls.sums.map((sum) => [sum.id, sum]));
  return nodes.map((node) => sums.get(node.id) ?? { in: 0, out: 0 });
}

/** The colour of a number of calls: its root, as few boxes have most of the calls. */
const heat = (n, most) => (n ? Math.ceil((HEATS - 1) * Math.sqrt(n / most)) : 0);

function scale(most) {
  if (!most) return h("span", {}, "No calls from other boxes");
  const upper = (at) => Math.floor(most * (at / (HEATS - 1)) ** 2);
  const steps = [...Array(HEATS).keys()].filter((at) => !at || upper(at) > upper(at - 1));
  return h("span", {}, "Calls to a box: ", steps.map((at) => [
    h("i", { class: `heat${at}` }), h("span", { class: "upto" }, at ? `to ${number(upper(at))}` : "0")]));
}

/** Move the focus to the nearest box in the direction of an arrow key; one box alone is in the order of Tab. */
function move(event, links, placed) {
  const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
  const here = links.indexOf(event.target.closest(".box"));
  if (here < 0 || !(dx || dy)) return;
  event.preventDefault();
  const middle = ({ x, y, w, h: height }) => [x + w / 2, y + height / 2];
  const [x, y] = middle(placed[here]);
  let best = null;
  placed.forEach((each, at) => {
    const [right, down] = [middle(each)[0] - x, middle(each)[1] - y];
    const ahead = right * dx + down * dy;
    if (ahead <= 0) return;
    const distance = ahead + 2 * Math.abs(right * dy + down * dx);
    if (!best || distance < best.distance) best = { at, distance };
  });
  if (!best) return;
  links[here].tabIndex = -1;
  links[best.at].tabIndex = 0;
  links[best.at].focus();
}

/** A curve between two boxes with an arrow at the called one, and a dot at the other. */
function curve(from, to, calls) {
  const width = Math.min(7, 1 + Math.log2(calls) / 2);
  const path = s("path", { "stroke-width": width });
  const dot = s("circle", { r: 2 + width / 2 });
  const arrow = s("polygon");
  const element = s("g", { class: "edge" }, path, dot, arrow);
  const layOut = (placed) => {
    const [[x1, y1], [x2, y2]] = [from, to].map((at) => [placed[at].x + placed[at].w / 2, placed[at].y + placed[at].h / 2]);
    const length = Math.hypot(x2 - x1, y2 - y1) || 1;
    const bend = Math.min(60, length / 4); // to the right, so that two directions are two curves
    const [mx, my] = [(x1 + x2) / 2 - (bend * (y2 - y1)) / length, (y1 + y2) / 2 + (bend * (x2 - x1)) / length];
    const [dx, dy] = [(x2 - mx), (y2 - my)].map((each) => each / (Math.hypot(x2 - mx, y2 - my) || 1));
    const size = 6 + width;
    const [bx, by] = [x2 - dx * size, y2 - dy * size]; // the base of the arrow
    path.setAttribute("d", `M${x1} ${y1}Q${mx} ${my} ${bx} ${by}`);
    arrow.setAttribute("points", [[x2, y2], [bx - dy * size / 2, by + dx * size / 2], [bx + dy * size / 2, by - dx * size / 2]].join(" "));
    dot.setAttribute("cx", x1);
    dot.setAttribute("cy", y1);
  };
  return { element, from, to, layOut };
}
