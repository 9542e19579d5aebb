// Addresses of views after "#", and the links to them.

import { h } from "./dom.js";

/** The view and the arguments of the current address. */
export function current() {
  const [name, query] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { name, args: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** The address of a view with its arguments; empty ones are left out. */
export function to(view, args = {}) {
  const given = Object.entries(args).filter(([, value]) => value !== "" && value !== 0 && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

/** Go to an address; the view of the current one is shown anew. */
export function open(address) {
  if (location.hash === address) dispatchEvent(new HashChangeEvent("hashchange"));
  else location.hash = address;
}

/** A link to a line of a file. */
export const place = (path, line, text = `${path}:${line}`) => h("a", { href: to("file", { path, line }) }, text);

/** The address of a symbol that the server named with its place. */
export const toSymbol = ({ symbol, path, line }) => to("symbol", { symbol, path, line });

/** A link to a symbol. */
export const symbolLink = (each) => h("a", { href: toSymbol(each) }, each.symbol);

/** The folders above a path as links; the last part is the page itself. */
export function crumbs(root, path) {
  const parts = path ? path.split("/") : [];
  const links = [h("a", { href: to("map") }, root || "workspace")];
  parts.forEach((part, at) => links.push(h("a", { href: to("map", { path: parts.slice(0, at + 1).join("/") }) }, part)));
  links.at(-1).setAttribute("aria-current", "page");
  return h("nav", { "aria-label": "Folders" }, h("ol", { class: "crumbs" }, links.map((link) => h("li", {}, link))));
}
