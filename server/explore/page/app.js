// Routes: the address after "#" names a view and its arguments, and one module a view makes its content.

import { current } from "./address.js";
import { Unreachable } from "./api.js";
import { showAsk } from "./ask.js";
import { h, problem } from "./dom.js";
import { showFile } from "./file.js";
import { showMap } from "./map.js";
import { showMemory } from "./memory.js";
import { panel } from "./panel.js";
import { showPath } from "./path.js";
import { searchBox, showSearch } from "./search.js";
import { showStats } from "./stats.js";
import { indexed, reconnect, watchStatus } from "./status.js";
import { showSymbol } from "./symbol.js";
import { showTalks } from "./talks.js";

/**
 * Views by name. Each gets its arguments and `{ signal, onShown }`, and resolves to a list of nodes with one `h1`;
 * functions that it gives to `onShown` run once the nodes are in the page.
 */
const VIEWS = {
  map: showMap, file: showFile, symbol: showSymbol, path: showPath, ask: showAsk, talks: showTalks, memory: showMemory,
  stats: showStats, search: showSearch,
};

const NAME = document.title;
const main = document.getElementById("main");
const fillMain = panel(main);

async function show() {
  const { name, args } = current();
  const chosen = name || "map";
  markCurrent(chosen);
  const atTop = history.state?.scroll ?? 0;
  const whenShown = [];
  const isShown = await fillMain(async (signal) => {
    if (!Object.hasOwn(VIEWS, chosen)) throw new Error(`There is no page ${chosen}. Choose one above.`);
    await indexed(signal, (waiting) => main.replaceChildren(...waiting));
    return VIEWS[chosen](args, { signal, onShown: (run) => whenShown.push(run) });
  }, failed);
  if (!isShown) return;
  const isFirst = document.title === NAME;
  document.title = `${main.querySelector("h1").textContent} · ${NAME}`;
  // Keys act on the new content; of a page that was just opened, Tab begins at the top.
  if (!isFirst && !document.activeElement.closest("header")) main.focus({ preventScroll: true });
  scrollTo(0, atTop);
  whenShown.forEach((run) => run());
}

function failed(error) {
  main.replaceChildren(h("h1", {}, "Not shown"), problem(error));
  if (error instanceof Unreachable) reconnect(show);
}

/** Emphasise a view in the navigation. */
function markCurrent(chosen) {
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${chosen}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
// Content comes after the address has changed, so the browser cannot restore where the page was scrolled to.
addEventListener("scrollend", () => history.replaceState({ ...history.state, scroll: scrollY }, ""));
addEventListener("hashchange", show);
searchBox(() => main.focus());
watchStatus(show);
show();
