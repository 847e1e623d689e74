/** The rows of tables. */
import { html, type Markup } from "./markup.ts";

/** A row of a body: what is text gets a cell, and a cell that is one already stays as it is. */
export function tableRow(cells: readonly (string | number | Markup | readonly Markup[])[]): Markup {
  const row = cells.map((cell) => (typeof cell === "object" ? cell : html`<td>${cell}</td>`));
  return html`<tr>${row}</tr>\n`;
}

/** A row of a head. */
export function headRow(titles: readonly string[]): Markup {
  return html`<tr>${titles.map((title) => html`<th>${title}</th>`)}</tr>`;
}
