// What the memory strategies know of a document or a conversation; the model reads nothing for it.

import { place, to } from "./address.js";
import { Refused, refusal, view } from "./api.js";
import { counted, empty, h, list, problem, section, soft, table } from "./dom.js";
import { entityDrawing } from "./entities.js";
import { fieldForm } from "./forms.js";

const MAX_BESIDE = 5; // relations of an entity in the table
const MAX_PLACES = 4;

/** A form for a document, which leads to its memory. */
export const documentForm = (path) => fieldForm({
  view: "memory", field: "path", label: "Path", value: path, placeholder: "README.md" });

export async function showMemory(args, { signal }) {
  const { path = "", conversation = "", question = "" } = args;
  const form = documentForm(path);
  if (!path && !conversation) return [h("h1", {}, "Memory of a document"), form];
  const found = await view("memory", { path, conversation, question }, signal).catch(refusal);
  if (found instanceof Refused) return [h("h1", {}, "Memory of a document"), form, problem(found)];
  const part = (title, name, shown) => section(title, found[name] === null ? empty(found.missing[name]) : shown(found[name]));
  const texts = (values) => (values.length ? list(values.map((each) => [each])) : empty("None."));
  return [
    h("h1", {}, `Memory: ${found.title}`),
    h("p", {}, conversation ? h("a", { href: to("talks", { id: conversation }) }, "The conversation") : place(path, 1, path)),
    fieldForm({ view: "memory", field: "question", label: "For the question", value: question, more: { path, conversation } }),
    h("div", { class: "columns" },
      part("Summary", "summary", (text) => h("p", {}, text || "Empty.")),
      part("Gists (MemoRAG)", "gists", texts),
      part("Clues (MemoRAG)", "clues", (clues) => texts(clues.map((each) => `${each.kind}: ${each.text}`))),
      part("Notes (Segment+)", "notes", texts)),
    part("Graph (QRMeM)", "graph", graph),
    ...found.remarks.map((each) => soft(each)),
  ];
}

function graph(found) {
  const step = (each) => h("code", {}, Object.entries(each).map(([name, value]) => `${name}: ${value}`).join(", "));
  const beside = found.entities.map(() => []);
  for (const each of found.relations) {
    beside[each.from].push(`${found.entities[each.to].name}: ${each.text}`);
    beside[each.to].push(`${found.entities[each.from].name}: ${each.text}`);
  }
  const rows = found.entities.map((each, at) => [each.name, each.kind,
    list(beside[at].slice(0, MAX_BESIDE).map((text) => [text])), each.places.slice(0, MAX_PLACES).join(", ")]);
  return [
    soft(`${counted(found.nEntities, "entity", "entities")}, ${counted(found.nRelations, "relation")}; `,
      "the most connected ones are shown."),
    found.entities.length > 0 && entityDrawing(found),
    found.walk.length > 0 && [h("h3", {}, "Walk for the question"), h("ol", {}, found.walk.map((each) => h("li", {}, step(each))))],
    found.found.length > 0 && [h("h3", {}, "Found"), list(found.found.map((each) => [each]))],
    table("Entities", ["entity", "kind", "relations", "places"], rows),
  ];
}
