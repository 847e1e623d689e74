/** Table cell for a value with a limit. */
import { html, type Markup } from "../markup.ts";

/** Cell that is highlighted if the limit is exceeded. */
export function limited(isOver: boolean, text: string): Markup {
  return isOver ? html`<td class="over">${text}</td>` : html`<td>${text}</td>`;
}
