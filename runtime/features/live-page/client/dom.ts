/** Creates elements from names, attributes and text; data is never parsed as markup. */

type Child = Node | string;

type Attributes = Readonly<Record<string, string | number>>;

const SVG = "http://www.w3.org/2000/svg";

export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  return filled(made, attributes, children);
}

export function drawn<K extends keyof SVGElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS(SVG, name);
  return filled(made, attributes, children);
}

/** Sets the text if it changed, which preserves selections. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** @throws Error if missing: the page does not match this script. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found;
}

function filled<E extends Element>(made: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}
