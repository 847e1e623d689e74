/** Renders table rows. */
import { html, type Markup } from "./markup.ts";

/** Body row; text gets a cell, and existing cells are kept. */
export function tableRow(cells: readonly (string | number | Markup | readonly Markup[])[]): Markup {
  const row = cells.map((cell) => (typeof cell === "object" ? cell : html`<td>${cell}</td>`));
  return html`<tr>${row}</tr>\n`;
}

export function headRow(titles: readonly string[]): Markup {
  return html`<tr>${titles.map((title) => html`<th>${title}</th>`)}</tr>`;
}
