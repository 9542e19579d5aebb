// A form with one field, which leads to a view with its value as an argument.

import { open, to } from "./address.js";
import { h } from "./dom.js";

/** `more` are other arguments of the view; they stay as they are. */
export function fieldForm({ view, field, label, value = "", placeholder = "", button = "Show", more = {} }) {
  const id = `${view}-${field}`;
  const input = h("input", { id, name: field, value, placeholder, maxlength: 2000, autocomplete: "off" });
  return h("form", { class: "field", "aria-label": label, onsubmit: (event) => {
    event.preventDefault();
    open(to(view, { ...more, [field]: input.value.trim() }));
  } }, h("label", { for: id }, label), input, h("button", {}, button));
}
