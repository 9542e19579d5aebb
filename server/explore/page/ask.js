// Questions about the code: the answer, its checked citations, and all evidence with its scores.

import { place } from "./address.js";
import { Refused, refusal, view } from "./api.js";
import { code, counted, empty, h, list, number, preview, problem, section, soft, table } from "./dom.js";
import { fieldForm } from "./forms.js";

export async function showAsk(args, { signal }) {
  const question = args.question ?? "";
  const head = [h("h1", {}, "Ask about the code"), fieldForm({
    view: "ask", field: "question", label: "Question", value: question, button: "Ask" })];
  if (!question) return [...head, soft("The answer comes with its evidence and their scores. Nothing of it is stored.")];
  const found = await view("ask", { question }, signal).catch(refusal);
  if (found instanceof Refused) return [...head, problem(found)];
  const cited = (each) => place(each.path, each.startLine + 1, each.place);
  const dropped = found.nDropped ? ` ${counted(found.nDropped, "citation")} did not hold.` : "";
  const parts = (each) => each.parts.map((part) => `${part.name} ${number(part.value)}`).join(", ");
  return [
    ...head,
    code(found.text, "Answer"),
    soft(`${found.model || "Lines of the repository; no model wrote it"}. Confidence: ${found.level} (${number(found.confidence)}).${dropped}`),
    section("Checked citations", found.citations.length
      ? list(found.citations.map((each) => [cited(each), preview(each.text)])) : empty("None.")),
    section("Evidence", table("Best first", ["place", "why", "score", "parts of the score"], found.exhibits.map((each) => [
      [cited(each), " ", each.symbol], each.why, each.score, parts(each)]))),
    ...found.notes.map((note) => soft(note)),
  ];
}
