// A file, and beside it what retrieval and completion do at one of its lines.

import { crumbs, place, symbolLink, to } from "./address.js";
import { view } from "./api.js";
import { code, counted, empty, h, list, number, section, soft } from "./dom.js";
import { listing } from "./lines.js";
import { panel } from "./panel.js";
import { rankingForm } from "./ranking.js";
import { fragments } from "./fragments.js";
import { start } from "./status.js";

const STEP = 250; // lines from the end of a part to the middle of the next

export async function showFile(args, { signal, onShown }) {
  const path = args.path ?? "";
  let line = Math.max(1, Number(args.line) || 1);
  const [file, settings] = await Promise.all([view("file", { path, line }, signal), start()]);
  line = Math.min(line, Math.max(1, file.nLines));
  const found = h("div", { "aria-live": "polite" },
    soft("Choose a line, by a click or with the arrow keys and Enter, to see the fragments that a prompt gets there."));
  const completed = h("div", { "aria-live": "polite" });
  const showFound = panel(found, signal);
  const showCompleted = panel(completed, signal);
  let isAsked = false; // a change of the form ranks again only what was ranked
  let before = { line: 0, fragments: null }; // the last answer

  const retrieve = () => {
    isAsked = true;
    const wanted = line;
    return showFound(async (own) => {
      const ranked = await view("retrieval", { path, line: wanted, ...ranking.values() }, own);
      const nodes = fragments(ranked, wanted, before.line === wanted ? before.fragments : null);
      before = { line: wanted, fragments: ranked.fragments };
      return nodes;
    });
  };
  const complete = () => showCompleted(async (own) => completion(await view("completion", { path, line }, own)));
  const remember = () => history.replaceState(history.state, "", to("file", { path, line, ...ranking.changed() }));
  const choose = (chosen) => {
    line = chosen;
    remember();
    button.textContent = `Complete at the end of line ${line}`;
    showCompleted(() => []);
    retrieve();
  };

  const ranking = rankingForm(settings, args, () => {
    if (!isAsked) return;
    remember();
    retrieve();
  });
  const button = h("button", { type: "button", onclick: complete }, `Complete at the end of line ${line}`);
  const lines = listing(file, line, choose);
  onShown(() => {
    lines.scrollToChosen();
    if (args.line) retrieve();
  });
  const root = settings.folders.length === 1 ? settings.folders[0].path.split("/").pop() : "";
  return [
    crumbs(root, file.path),
    h("h1", {}, file.path.split("/").pop()),
    soft(`${file.language || "text"}, ${counted(file.nLines, "line")}. `, h("a", { href: to("map", { path }) }, "Map of its definitions")),
    h("div", { class: "place" },
      h("div", {}, outline(file), parts(file), lines.element, parts(file)),
      h("aside", { class: "panel", "aria-label": "Retrieval" }, ranking.element, button, completed, found)),
  ];
}

/** Which lines are shown of a file that has more, with links to those before and after. */
function parts(file) {
  const last = file.start + file.lines.length - 1;
  if (file.lines.length >= file.nLines) return null;
  const link = (line, words) => h("a", { href: to("file", { path: file.path, line }) }, words);
  return h("p", { class: "parts" }, `Lines ${number(file.start)} to ${number(last)} of ${number(file.nLines)}. `,
    file.start > 1 && link(Math.max(1, file.start - STEP), "Earlier"), " ",
    last < file.nLines && link(Math.min(file.nLines, last + STEP), "Later"));
}

function outline(file) {
  const rows = file.definitions.map((each) => [
    symbolLink({ ...each, path: file.path }), " ", h("span", { class: "soft" }, each.kind, " ", place(file.path, each.line, `line ${each.line}`))]);
  return rows.length > 0 && h("details", { class: "outline" },
    h("summary", {}, `Definitions on these lines (${number(rows.length)})`), list(rows));
}

function completion(found) {
  const verdict = found.whyHidden ? `Hidden while typing: ${found.whyHidden}.` : "Shown while typing.";
  return [section("Completion", found.text ? code(found.text, "Text of the completion") : empty("There is no text to offer here."),
    soft(`By the ${found.model}. ${verdict}`), list((found.reasons ?? []).map((each) => [each])))];
}
