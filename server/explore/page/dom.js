// Elements of the page. All text is set as text, never as HTML: names and code of a workspace are other people's.

const SVG = "http://www.w3.org/2000/svg";

const isShown = (child) => child !== null && child !== undefined && child !== false && child !== "";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (isShown(value)) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter(isShown));
  return element;
}

/** An HTML element. Attributes that begin with "on" are listeners; null, undefined, false and "" are left out. */
export const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** An SVG element. */
export const s = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

export const number = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(3));

/** A number with its noun: "1 line", "1,204 lines". */
export const counted = (n, one, many = `${one}s`) => `${number(n)} ${n === 1 ? one : many}`;

/** The beginning of a text, or its end, with an ellipsis for the rest. */
export const cut = (text, length) => (text.length <= length ? text : `${text.slice(0, length - 1)}…`);

export const soft = (...content) => h("p", { class: "soft" }, content);

/** What an empty list says instead of its entries. */
export const empty = (...content) => h("p", { class: "empty" }, content);

export const problem = (error) => h("p", { class: "error", role: "alert" }, error.message);

/** A section with a heading. */
export const section = (title, ...content) => h("section", {}, h("h2", {}, title), content);

export const list = (items) => h("ul", { class: "plain" }, items.map((each) => h("li", {}, each)));

/** Code that can be scrolled with the keyboard. */
export const code = (text, label) => h("pre", { tabindex: 0, role: "region", "aria-label": label }, dedented(text));

/** A few lines of code in a list. */
export const preview = (text) => h("code", { class: "preview" }, dedented(text));

/** The lines without the indentation that all of them have, and without empty ones at both ends. */
function dedented(text) {
  const lines = text.replace(/^(?:[ \t]*\n)+|\s+$/g, "").split("\n");
  const depths = lines.filter((line) => line.trim()).map((line) => line.search(/\S/));
  return lines.map((line) => line.slice(Math.min(...depths))).join("\n");
}

/** A table with a caption; rows are lists of cells, and columns of numbers are aligned right. */
export function table(caption, heads, rows) {
  if (!rows.length) return empty("None.");
  const isNumber = heads.map((_, at) => rows.every((row) => typeof row[at] === "number"));
  const kind = (at) => (isNumber[at] ? "n" : null);
  const shown = (value) => (typeof value === "number" ? number(value) : value);
  return h("table", {}, caption && h("caption", {}, caption),
    h("thead", {}, h("tr", {}, heads.map((head, at) => h("th", { class: kind(at), scope: "col" }, head)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, at) => h("td", { class: kind(at) }, shown(value)))))));
}

/** A bar of a share between 0 and 1, beside a number that says the same. */
export function bar(share) {
  const filled = h("span", { class: "part0" });
  filled.style.width = `${100 * share}%`;
  return h("div", { class: "bar", "aria-hidden": "true" }, filled);
}
