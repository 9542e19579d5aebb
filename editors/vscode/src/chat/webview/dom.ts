// Creates elements. Text is set as text; only the Markdown renderer writes HTML, for `elementsOf`.

type Attributes = Record<string, string | boolean | ((event: never) => void) | undefined>;

/** An element with attributes (`onclick` and such are listeners; false and undefined leave one out) and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value as unknown as EventListener);
    else if (value !== false && value !== undefined) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function button(title: string, onclick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  return element("button", { type: "button", onclick, ...attributes }, title);
}

/** The nodes of HTML that the Markdown renderer wrote. */
export function elementsOf(html: string): Node[] {
  const template = element("template");
  template.innerHTML = html;
  return [...template.content.childNodes];
}
