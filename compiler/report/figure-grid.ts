/** Figures side by side, as many as there is room for. */
import { type Content, html, type Markup } from "./markup.ts";

export function figureGrid(figures: readonly Content[]): Markup {
  return html`<div class="figures">\n${figures.map((figure) => html`${figure}\n`)}</div>`;
}
