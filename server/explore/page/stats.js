// Counters and latency over days, of all processes of this user.

import { view } from "./api.js";
import { h, number, s, section, table } from "./dom.js";

const sum = (counts) => Object.values(counts).reduce((total, each) => total + each, 0);

export async function showStats(content, args, { signal }) {
  const days = Math.min(365, Math.max(1, Number(args.days) || 30));
  const { total, byDay, status } = await view("stats", { days }, signal);
  const card = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const share = total.acceptedShare === null ? "none shown" : `${Math.round(100 * total.acceptedShare)} %`;
  const latency = (rows) => Object.entries(rows).map(([name, each]) => [name, each.p50, each.p95, each.n]);
  const counts = (title, values) => (sum(values) ? section(title, table("", ["what", "number"], Object.entries(values))) : "");
  content.append(
    h("h1", {}, `Counters of ${days} days`),
    h("dl", { class: "cards" },
      card("Requests", number(sum(total.asked))), card("Completions offered", number(sum(total.offered))),
      card("Shown", number(sum(total.shown))), card("Accepted", share),
      card("Next edits taken", number(sum(total.nextEditsTaken))), card("Calls of agents", number(sum(total.agentCalls))),
      card("Memory", `${Math.round(status.memoryMb)} MB`)),
    section("Latency by day", chart(byDay)),
    h("div", { class: "columns" },
      section("Latency of completions", table("Milliseconds", ["source", "median", "95th percentile", "requests"],
        latency(total.latencyMs))),
      section("Latency of agents' tools", table("Milliseconds", ["tool", "median", "95th percentile", "calls"],
        latency(total.agentLatencyMs))),
      counts("Why nothing was offered", total.empty), counts("Offered, by source", total.offered),
      counts("Shown, by language", total.shown), counts("Next edits shown, by kind", total.nextEditsShown),
      counts("Calls of agents, by tool", total.agentCalls),
      section("Days", table("", ["day", "requests", "offered", "shown", "agents"], byDay.map((day) => [
        day.date, sum(day.asked), sum(day.offered), sum(day.shown), sum(day.agentCalls)])))),
  );
}

/** Median and 95th percentile of the source with the most completions, on a logarithmic axis. */
function chart(byDay) {
  const totals = new Map();
  for (const day of byDay) {
    for (const [name, each] of Object.entries(day.latencyMs)) totals.set(name, (totals.get(name) ?? 0) + each.n);
  }
  const source = [...totals].sort((a, b) => b[1] - a[1])[0]?.[0];
  const points = byDay.filter((day) => day.latencyMs[source]).map((day) => ({ date: day.date, ...day.latencyMs[source] }));
  if (!points.length) return h("p", { class: "empty" }, "No completion was measured in these days.");
  const [low, high] = [0, Math.ceil(Math.log10(Math.max(10, ...points.map((each) => each.p95))))];
  const x = (at) => 60 + (points.length === 1 ? 440 : (880 * at) / (points.length - 1));
  const y = (ms) => 170 - (150 * (Math.log10(Math.max(1, ms)) - low)) / (high - low);
  const line = (name) => [s("polyline", { class: name, points: points.map((each, at) => `${x(at)},${y(each[name])}`).join(" ") }),
    points.map((each, at) => s("circle", { class: name, cx: x(at), cy: y(each[name]), r: 4 },
      s("title", {}, `${each.date}: ${each[name]} ms`)))];
  const grid = [...Array(high - low + 1).keys()].map((at) => [
    s("line", { class: "axis", x1: 50, x2: 960, y1: y(10 ** at), y2: y(10 ** at) }),
    s("text", { class: "small", x: 44, y: y(10 ** at) + 4, "text-anchor": "end" }, `${10 ** at} ms`)]);
  const ends = points.length === 1 ? [0] : [0, points.length - 1];
  const dates = ends.map((at) => s("text", { class: "small", x: x(at), y: 190, "text-anchor": "middle" }, points[at].date));
  const name = `Latency of ${source} by day: median and 95th percentile`;
  return h("figure", {}, s("svg", { viewBox: "0 0 1000 200", class: "chart", role: "img", "aria-label": name },
    grid, line("p50"), line("p95"), dates),
  h("figcaption", { class: "legend" }, h("span", {}, h("span", { class: "key part0" }), "median"),
    h("span", {}, h("span", { class: "key part1" }), "95th percentile"), h("span", {}, `source: ${source}`)));
}
