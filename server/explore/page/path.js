// The path of calls between two symbols, and their relation.

import { open, place, symbolLink, to } from "./address.js";
import { Refused, refusal, view } from "./api.js";
import { bar, counted, empty, h, number, problem, section, soft } from "./dom.js";

/** A form for two symbols, which leads to their path. */
export function pathForm(from, target) {
  const field = (name, label, value) => h("p", {}, h("label", { for: name }, label),
    h("input", { id: name, name, value, required: true, maxlength: 500, autocomplete: "off", spellcheck: "false" }));
  return h("form", { class: "path", "aria-label": "Path between two symbols", onsubmit: (event) => {
    event.preventDefault();
    open(to("path", Object.fromEntries(new FormData(event.target))));
  } }, field("from", "From", from), field("to", "To", target), h("button", {}, "Show the path"));
}

export async function showPath(args, { signal }) {
  const head = [h("h1", {}, "Path between two symbols"), pathForm(args.from ?? "", args.to ?? "")];
  if (!args.from || !args.to) {
    return [...head, soft("Give two names such as ", h("code", {}, "pay"), " or ", h("code", {}, "Shop.pay"),
      ", or a place and a name such as ", h("code", {}, "shop.py:12 pay"), ".")];
  }
  const found = await view("path", { from: args.from, to: args.to }, signal).catch(refusal);
  if (found instanceof Refused) return [...head, problem(found)];
  return [
    ...head,
    section("Calls", found.steps.length ? calls(found) : empty("No call path leads from one to the other.")),
    section("Relation", h("p", {}, "Strength of the code relation, as retrieval uses it: ",
      h("strong", {}, found.relation ? number(found.relation) : "none"), "."),
    found.relationSteps.length > 0 && h("ol", {}, found.relationSteps.map((step) => h("li", {}, h("code", {}, step))))),
  ];
}

function calls(found) {
  const direction = found.isReversed ? " The calls lead the other way: from the second symbol to the first." : "";
  const steps = found.steps.map((step) => [
    h("li", { class: "step" }, h("span", { class: "soft" }, "calls at ", place(step.source.path, step.line), `: ${step.how}`),
      h("span", { class: "count" }, number(step.confidence)), bar(step.confidence)),
    symbol(step.target)]);
  return [
    h("p", {}, `${counted(found.steps.length, "step")}. Strength `, h("strong", {}, number(found.strength)),
      `, the product of the confidences of the steps.${direction}`),
    h("ol", { class: "plain chain" }, symbol(found.steps[0].source), steps),
  ];
}

const symbol = (each) => h("li", { class: "node" }, symbolLink(each), " ", h("span", { class: "soft" }, each.place));
