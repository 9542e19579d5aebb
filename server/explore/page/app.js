// Routes by the address after "#": one module a view.

import { view } from "./api.js";
import { h, list, number, place, to } from "./dom.js";
import { showFile } from "./file.js";
import { showMap } from "./map.js";
import { showPath, showSymbol } from "./symbol.js";
import { showStats } from "./stats.js";
import { showAsk, showMemory, showTalks } from "./talks.js";

const main = document.getElementById("main");
const VIEWS = {
  map: showMap, file: showFile, symbol: showSymbol, path: showPath, ask: showAsk, talks: showTalks, memory: showMemory,
  stats: showStats, search: showSearch,
};

let start = null;
let running = new AbortController();

async function show() {
  running.abort();
  running = new AbortController();
  const signal = running.signal;
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const args = Object.fromEntries(new URLSearchParams(query ?? ""));
  const chosen = VIEWS[name] ? name : "map";
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${chosen}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const slow = setTimeout(() => main.replaceChildren(h("h1", {}, "Loading …")), 300);
  try {
    start ??= await view("start");
    status(start);
    const content = h("div");
    await VIEWS[chosen](content, args, { start, signal });
    clearTimeout(slow);
    if (signal.aborted) return;
    main.replaceChildren(content);
  } catch (error) {
    clearTimeout(slow);
    if (error.name === "AbortError") return;
    main.replaceChildren(h("h1", {}, "Not shown"), h("p", { class: "error", role: "alert" }, error.message));
  }
  document.title = `${main.querySelector("h1")?.textContent ?? "Map"} · Weft explore`;
  if (document.activeElement === document.body || chosen !== "file") main.focus({ preventScroll: true });
  if (chosen !== "file") scrollTo(0, 0);
}

function status(found) {
  document.getElementById("folder").textContent = found.folders.map((each) => each.path.split("/").pop()).join(", ");
  const { files, lines, text } = found.status;
  document.getElementById("status").textContent = `${number(files)} files, ${number(lines)} lines. ${text}`;
}

async function showSearch(content, args, { signal }) {
  const found = await view("search", { query: args.query ?? "" }, signal);
  const hit = (each) => [
    each.symbol && each.kind !== "code"
      ? h("a", { href: to("symbol", { symbol: each.symbol, path: each.path, line: each.line + 1 }) }, each.symbol)
      : place(each.path, each.line + 1),
    ` ${each.kind} `,
    place(each.path, each.line + 1),
    h("br"),
    h("code", { class: "soft" }, each.preview.trim()),
  ];
  content.append(h("h1", {}, `Search: ${args.query ?? ""}`),
    found.hits.length ? list(found.hits.map(hit)) : h("p", { class: "empty" }, "Nothing found. Try other words."),
    ...found.notes.map((note) => h("p", { class: "soft" }, note)));
}

document.getElementById("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = document.getElementById("query").value.trim();
  if (query) location.hash = to("search", { query });
});
document.addEventListener("keydown", (event) => {
  const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    document.getElementById("query").focus();
  }
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", show);
show();
