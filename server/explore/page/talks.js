// Questions with evidence, stored conversations, and what the memory strategies know.

import { view } from "./api.js";
import { counted, h, list, number, place, s, section, table, to } from "./dom.js";

const date = (seconds) => new Date(seconds * 1000).toLocaleString();

export async function showAsk(content, args, { signal }) {
  content.append(h("h1", {}, "Ask about the code"), form("ask", "question", "Question", args.question ?? ""));
  if (!args.question) {
    content.append(h("p", { class: "soft" }, "The answer shows its evidence with scores, and is not stored."));
    return;
  }
  const found = await view("ask", { question: args.question }, signal);
  const cited = (each) => place(each.path, each.startLine + 1, each.place);
  content.append(
    h("pre", { tabindex: 0 }, found.text),
    h("p", { class: "soft" }, `${found.model || "Lines of the repository; no model wrote it"}. Confidence ${found.level} `,
      `(${number(found.confidence)}).${found.nDropped ? ` ${counted(found.nDropped, "citation")} did not hold.` : ""}`),
    section("Checked citations", found.citations.length ? list(found.citations.map((each) => [cited(each), h("br"),
      h("code", { class: "soft" }, each.text)])) : h("p", { class: "empty" }, "None.")),
    section("Evidence", table("Best first", ["place", "why", "score", "parts"], found.exhibits.map((each) => [
      [cited(each), " ", each.symbol], each.why, each.score,
      each.parts.map((part) => `${part.name} ${number(part.value)}`).join(", ")]))),
    ...found.notes.map((note) => h("p", { class: "soft" }, note)));
}

export async function showTalks(content, args, { signal }) {
  if (args.id) return showTalk(content, args.id, signal);
  const { conversations } = await view("conversations", { text: args.text ?? "" }, signal);
  content.append(
    h("h1", {}, "Conversations and memory"), form("talks", "text", "With the words", args.text ?? ""),
    section("Conversations", table("Most recent first", ["question", "turns", "last", "memory"],
      conversations.map((each) => [h("a", { href: to("talks", { id: each.id }) }, each.title || "(no title)"), each.turns,
        date(each.changedAt), h("a", { href: to("memory", { conversation: each.id }) }, "memory")]))),
    section("Memory of a document", form("memory", "path", "Path", "", "README.md")));
  return undefined;
}

async function showTalk(content, id, signal) {
  const found = await view("conversation", { id }, signal);
  content.append(h("h1", {}, found.turns[0].question),
    h("p", {}, `${counted(found.nTurns, "turn")}. `, h("a", { href: to("memory", { conversation: id }) },
      "What the memory strategies know of it")));
  for (const turn of found.turns) {
    content.append(section(turn.question, h("p", { class: "soft" }, date(turn.askedAt), turn.model ? `, ${turn.model}` : ""),
      h("pre", { tabindex: 0 }, turn.answer ?? "Not answered."),
      list(turn.citations.map((each) => place(each.path, each.startLine + 1, each.place)))));
  }
}

export async function showMemory(content, args, { signal }) {
  const wanted = { path: args.path ?? "", conversation: args.conversation ?? "", question: args.question ?? "" };
  const found = await view("memory", wanted, signal);
  const part = (title, name, shown) => section(title, found[name] === null
    ? h("p", { class: "empty" }, found.missing[name]) : shown(found[name]));
  const texts = (values) => (values.length ? list(values.map((each) => [each])) : h("p", { class: "empty" }, "None."));
  content.append(
    h("h1", {}, `Memory: ${found.title}`),
    form("memory", "question", "For the question", wanted.question, "", { path: wanted.path, conversation: wanted.conversation }),
    h("div", { class: "columns" },
      part("Summary", "summary", (text) => h("p", {}, text || "Empty.")),
      part("Gists (MemoRAG)", "gists", texts),
      part("Clues (MemoRAG)", "clues", (clues) => texts(clues.map((each) => `${each.kind}: ${each.text}`))),
      part("Notes (Segment+)", "notes", texts)),
    part("Graph (QRMeM)", "graph", graph),
    ...found.remarks.map((each) => h("p", { class: "soft" }, each)));
}

function graph(found) {
  const step = (each) => h("code", {}, Object.entries(each).map(([name, value]) => `${name}: ${value}`).join(", "));
  const beside = found.entities.map(() => []);
  for (const each of found.relations) {
    beside[each.from].push(`${found.entities[each.to].name}: ${each.text}`);
    beside[each.to].push(`${found.entities[each.from].name}: ${each.text}`);
  }
  return [
    h("p", { class: "soft" }, `${counted(found.nEntities, "entity", "entities")}, ${counted(found.nRelations, "relation")}; `,
      "the most connected ones are shown."),
    found.entities.length ? drawing(found) : "",
    found.walk.length ? [h("h3", {}, "Walk for the question"), h("ol", {}, found.walk.map((each) => h("li", {}, step(each))))] : "",
    found.found.length ? [h("h3", {}, "Found"), list(found.found.map((each) => [each]))] : "",
    table("Entities", ["entity", "kind", "relations", "places"], found.entities.map((each, at) => [
      each.name, each.kind, list(beside[at].slice(0, 5).map((text) => [text])), each.places.slice(0, 4).join(", ")])),
  ];
}

/** Entities on an ellipse, with lines for relations; what the walk for the question passes is emphasised. */
function drawing(found) {
  const walked = new Set(found.walk.flatMap((each) => [each.from, each.to]).filter(Boolean));
  const at = (number_) => {
    const angle = (2 * Math.PI * number_) / found.entities.length - Math.PI / 2;
    return [500 + 330 * Math.cos(angle), 230 + 190 * Math.sin(angle)];
  };
  const lines = found.relations.map((each) => {
    const [[x1, y1], [x2, y2]] = [at(each.from), at(each.to)];
    const names = [found.entities[each.from].name, found.entities[each.to].name];
    return s("line", { class: `edge ${names.every((name) => walked.has(name)) ? "on" : ""}`, x1, y1, x2, y2, "stroke-width": 1.5 });
  });
  const labels = found.entities.map((each, number_) => {
    const [x, y] = at(number_);
    const isLeft = x < 500;
    return [s("circle", { class: walked.has(each.name) ? "dot on" : "dot", cx: x, cy: y, r: 4 }),
      s("text", { class: "small", x: x + (isLeft ? -8 : 8), y: y + 4, "text-anchor": isLeft ? "end" : "start" },
        each.name.length > 28 ? `${each.name.slice(0, 27)}…` : each.name)];
  });
  const picture = s("svg", { viewBox: "0 0 1000 460", role: "img", "aria-label": "Entities and their relations; the table has them too" });
  picture.append(...lines, ...labels.flat());
  if (walked.size) picture.classList.add("picked");
  return picture;
}

function form(name, field, label, value, placeholder = "", more = {}) {
  const id = `${name}-${field}`;
  return h("form", { "aria-label": label, onsubmit: (event) => {
    event.preventDefault();
    location.hash = to(name, { ...more, [field]: event.target.elements[field].value.trim() });
  } }, h("label", { for: id }, label),
  h("input", { id, name: field, value, placeholder, size: 48, maxlength: 2000, autocomplete: "off" }), h("button", {}, "Show"));
}
