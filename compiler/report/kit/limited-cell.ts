/** A cell of a table whose value has a limit. */
import { html, type Markup } from "../markup.ts";

/** A cell that stands out where a limit is exceeded. */
export function limited(isOver: boolean, text: string): Markup {
  return isOver ? html`<td class="over">${text}</td>` : html`<td>${text}</td>`;
}
