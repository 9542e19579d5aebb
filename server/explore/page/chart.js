// Latency by day as a chart: median and 95th percentile on a logarithmic axis.

import { empty, h, s } from "./dom.js";

const [WIDTH, HEIGHT] = [1000, 200];
const [LEFT, RIGHT, TOP, BOTTOM] = [60, 940, 20, 170];

/** The chart of the source with the most completions. */
export function latencyChart(byDay) {
  const source = mostUsed(byDay);
  const points = byDay.filter((day) => day.latencyMs[source]).map((day) => ({ date: day.date, ...day.latencyMs[source] }));
  if (!points.length) return empty("No completion was measured on these days.");
  const decades = Math.ceil(Math.log10(Math.max(10, ...points.map((each) => each.p95))));
  const x = (at) => (points.length === 1 ? (LEFT + RIGHT) / 2 : LEFT + ((RIGHT - LEFT) * at) / (points.length - 1));
  const y = (ms) => BOTTOM - ((BOTTOM - TOP) * Math.log10(Math.max(1, ms))) / decades;
  const line = (name) => [
    s("polyline", { class: name, points: points.map((each, at) => `${x(at)},${y(each[name])}`).join(" ") }),
    points.map((each, at) => s("circle", { class: name, cx: x(at), cy: y(each[name]), r: 4 },
      s("title", {}, `${each.date}: ${each[name]} ms`)))];
  const grid = [...Array(decades + 1).keys()].map((at) => [
    s("line", { class: "axis", x1: LEFT - 10, x2: RIGHT + 20, y1: y(10 ** at), y2: y(10 ** at) }),
    s("text", { x: LEFT - 16, y: y(10 ** at) + 4, "text-anchor": "end" }, `${10 ** at} ms`)]);
  const ends = points.length === 1 ? [0] : [0, points.length - 1];
  const dates = ends.map((at) => s("text", { x: x(at), y: HEIGHT - 10, "text-anchor": "middle" }, points[at].date));
  const label = `Latency of ${source} by day: median and 95th percentile`;
  return h("figure", { tabindex: 0, "aria-label": "Chart" },
    s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "drawing chart", role: "img", "aria-label": label }, grid, line("p50"), line("p95"), dates),
    h("figcaption", { class: "legend" }, h("span", {}, h("i", { class: "part0" }), "median"),
      h("span", {}, h("i", { class: "part1" }), "95th percentile"), h("span", {}, `Source: ${source}`)));
}

/** The source with the most completions; undefined if there is none. */
function mostUsed(byDay) {
  const totals = new Map();
  for (const day of byDay) {
    for (const [name, each] of Object.entries(day.latencyMs)) totals.set(name, (totals.get(name) ?? 0) + each.n);
  }
  return [...totals].sort((one, other) => other[1] - one[1])[0]?.[0];
}
