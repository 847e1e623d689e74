/** Renders a figure with heading and caption, and samples for its key. */
import { html, Markup } from "./markup.ts";

export function captionedFigure(heading: string, drawing: Markup, caption: string): Markup {
  return html`<figure><h3>${heading}</h3>${drawing}<figcaption>${caption}</figcaption></figure>\n`;
}

/** Sample of a line in figures. @param attributes of the stroke. */
export function lineSample(attributes: string, hasDot: boolean): Markup {
  const dot = hasDot ? `<circle cx="13" cy="5" r="3" fill="currentColor"/>` : "";
  return keySample(`<path d="M0 5h26" stroke="currentColor" ${attributes}/>${dot}`);
}

/** Sample of the circle for simulated values. */
export function circleSample(): Markup {
  return keySample(`<circle cx="13" cy="5" r="4" fill="none" stroke="currentColor"/>`);
}

function keySample(drawing: string): Markup {
  return new Markup(`<svg viewBox="0 0 26 10" aria-hidden="true">${drawing}</svg>`);
}
