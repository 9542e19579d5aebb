// Elements of the page. All text is set as text, never as HTML: names and code of a workspace are other people's.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((each) => each !== null && each !== undefined && each !== ""));
  return element;
}

/** An HTML element; attributes that begin with "on" are listeners. */
export const h = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);

/** An SVG element. */
export const s = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

/** The address of a view with its arguments; empty ones are left out. */
export function to(view, args = {}) {
  const given = Object.entries(args).filter(([, value]) => value !== "" && value !== 0 && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** A link to a line of a file. */
export const place = (path, line, text) => h("a", { href: to("file", { path, line }) }, text ?? `${path}:${line}`);

export const number = (value) => (Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(3));

export const counted = (n, what, many = `${what}s`) => `${number(n)} ${n === 1 ? what : many}`;

/** A table with a caption; rows are lists of cells, and columns of numbers are aligned right. */
export function table(caption, heads, rows) {
  if (!rows.length) return h("p", { class: "empty" }, "None.");
  const cell = (name, value, n, extra = {}) => h(name, { class: n ? "n" : null, ...extra }, value);
  const isNumber = heads.map((_, at) => rows.length > 0 && rows.every((row) => typeof row[at] === "number"));
  const shown = (value) => (typeof value === "number" ? number(value) : value);
  return h("table", {}, h("caption", { class: "soft" }, caption),
    h("thead", {}, h("tr", {}, heads.map((head, at) => cell("th", head, isNumber[at], { scope: "col" })))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, at) => cell("td", shown(value), isNumber[at]))))));
}

/** A section with a heading. */
export const section = (title, ...content) => h("section", {}, h("h2", {}, title), ...content);

/** A list of links with words after them. */
export const list = (items) => h("ul", { class: "plain" }, items.map((each) => h("li", {}, each)));

/** The folders above a path as links; the last part is the page itself. */
export function crumbs(root, path) {
  const parts = path ? path.split("/") : [];
  const links = [h("a", { href: to("map") }, root || "workspace")];
  parts.forEach((part, at) => links.push(h("a", { href: to("map", { path: parts.slice(0, at + 1).join("/") }) }, part)));
  links.at(-1).setAttribute("aria-current", "page");
  return h("nav", { "aria-label": "Folders" }, h("ol", { class: "crumbs" }, links.map((link) => h("li", {}, link))));
}
