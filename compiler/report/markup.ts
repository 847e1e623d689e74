/** HTML values: text in a template is escaped, markup is not. */

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Content = Markup | string | number | readonly Content[];

/** Template whose placeholders take text, which is escaped, or markup, which is kept. */
export function html(strings: TemplateStringsArray, ...holes: readonly Content[]): Markup {
  let text = strings[0] ?? "";
  holes.forEach((hole, index) => {
    text += render(hole) + (strings[index + 1] ?? "");
  });
  return new Markup(text);
}

/** Escapes text for elements and double-quoted attributes. */
export function escapeText(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

function render(content: Content): string {
  if (content instanceof Markup) return content.text;
  if (typeof content === "string") return escapeText(content);
  if (typeof content === "number") return String(content);
  return content.map(render).join("");
}
