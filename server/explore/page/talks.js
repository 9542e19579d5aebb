// Stored conversations: their list, and the turns of one.

import { place, to } from "./address.js";
import { view } from "./api.js";
import { code, counted, empty, h, list, section, soft, table } from "./dom.js";
import { fieldForm } from "./forms.js";
import { documentForm } from "./memory.js";

const date = (seconds) => new Date(seconds * 1000).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

export const showTalks = (args, context) => (args.id ? conversation(args.id, context) : conversations(args, context));

async function conversations(args, { signal }) {
  const text = args.text ?? "";
  const found = await view("conversations", { text }, signal);
  const none = text ? "No stored conversation has these words."
    : "No conversation is stored. Questions in an editor and with `weft ask` are.";
  const rows = found.conversations.map((each) => [
    h("a", { href: to("talks", { id: each.id }) }, each.title || "(no title)"), each.turns, date(each.changedAt),
    h("a", { href: to("memory", { conversation: each.id }) }, "memory")]);
  return [
    h("h1", {}, "Conversations and memory"),
    section("Conversations", fieldForm({ view: "talks", field: "text", label: "With the words", value: text, button: "Filter" }),
      rows.length ? table("Most recent first", ["first question", "turns", "last", "memory"], rows) : empty(none)),
    section("Memory of a document", documentForm("")),
  ];
}

async function conversation(id, { signal }) {
  const found = await view("conversation", { id }, signal);
  const turn = (each) => section(each.question, soft(date(each.askedAt), each.model && `, ${each.model}`),
    code(each.answer ?? "Not answered.", "Answer"), list(each.citations.map((cited) => place(cited.path, cited.startLine + 1, cited.place))));
  return [
    h("h1", {}, found.turns[0].question),
    h("p", {}, `${counted(found.nTurns, "turn")}. `,
      h("a", { href: to("memory", { conversation: id }) }, "What the memory strategies know of it")),
    ...found.turns.map(turn),
  ];
}
