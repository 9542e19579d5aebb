// Counters and latency over days, of all processes of this user.

import { view } from "./api.js";
import { latencyChart } from "./chart.js";
import { h, number, section, table } from "./dom.js";

const DAYS = 30;
const MAX_DAYS = 365;

const sum = (counts) => Object.values(counts).reduce((total, each) => total + each, 0);

export async function showStats(args, { signal }) {
  const days = Math.min(MAX_DAYS, Math.max(1, Math.round(args.days) || DAYS));
  const { total, byDay, status } = await view("stats", { days }, signal);
  const card = (name, value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));
  const share = total.acceptedShare === null ? "none shown" : `${Math.round(100 * total.acceptedShare)} %`;
  const latency = (title, what, values) => {
    const rows = Object.entries(values).map(([name, each]) => [name, each.p50, each.p95, each.n]);
    return rows.length > 0 && section(title, table("Milliseconds", [what, "median", "95th percentile", "number"], rows));
  };
  const counts = (title, what, values) => sum(values) > 0 && section(title, table("", [what, "number"], Object.entries(values)));
  const dayRows = byDay.map((day) => [day.date, sum(day.asked), sum(day.offered), sum(day.shown), sum(day.agentCalls)]);
  return [
    h("h1", {}, `Counters of ${days} days`),
    h("dl", { class: "cards" },
      card("Requests", number(sum(total.asked))), card("Completions offered", number(sum(total.offered))),
      card("Shown", number(sum(total.shown))), card("Accepted", share),
      card("Next edits taken", number(sum(total.nextEditsTaken))), card("Calls of agents", number(sum(total.agentCalls))),
      card("Memory of this server", `${Math.round(status.memoryMb)} MB`)),
    section("Latency of completions by day", latencyChart(byDay)),
    h("div", { class: "columns" },
      latency("Latency of completions", "source", total.latencyMs), latency("Latency of agents' tools", "tool", total.agentLatencyMs),
      counts("Why nothing was offered", "reason", total.empty), counts("Offered, by source", "source", total.offered),
      counts("Shown, by language", "language", total.shown), counts("Next edits shown, by kind", "kind", total.nextEditsShown),
      counts("Calls of agents, by tool", "tool", total.agentCalls),
      dayRows.length > 0 && section("Days", table("", ["day", "requests", "offered", "shown", "agents"], dayRows))),
  ];
}
