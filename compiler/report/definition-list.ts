/** Renders terms with their meanings, or facts by name. */
import { html, type Markup } from "./markup.ts";

export function definitionList(entries: readonly (readonly [string, string])[]): Markup {
  const items = entries.map(([term, text]) => html`<div><dt>${term}</dt><dd>${text}</dd></div>\n`);
  return html`<dl>${items}</dl>`;
}
