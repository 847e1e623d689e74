/** Renders figures side by side, as many as fit. */
import { type Content, html, type Markup } from "./markup.ts";

export function figureGrid(figures: readonly Content[]): Markup {
  return html`<div class="figures">\n${figures.map((figure) => html`${figure}\n`)}</div>`;
}
