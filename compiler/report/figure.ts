/**
 * Renders figures as SVG text. They are about as wide as a phone, so that labels are readable
 * there; wider pages show several side by side.
 */
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { escapeText, Markup } from "./markup.ts";

export const FIGURE_WIDTH = 380;

export interface FigureText {
  /** Unique in the page. */
  readonly id: string;
  /** Short name of the content. */
  readonly title: string;
  /** Text alternative for screen readers. */
  readonly description: string;
}

/** Returns SVG text for the scales of a plot, properly escaped. */
export type DrawMarkup = (scales: Plot.ScaleFunctions) => string;

/**
 * Draws a plot. Colours may be custom properties of the page. @param drawMarkup adds text on top:
 * thousands of cells would be slow as elements.
 */
export function drawFigure(
  { id, title, description }: FigureText,
  options: Plot.PlotOptions,
  drawMarkup: DrawMarkup = () => "",
): Markup {
  const { document } = parseHTML("<!doctype html><html><body></body></html>");
  let drawn = "";
  const svg = Plot.plot({
    document,
    width: FIGURE_WIDTH,
    height: 260,
    marginLeft: 48,
    marginRight: 14,
    marginTop: 26,
    marginBottom: 38,
    style: { fontSize: "11px" },
    ...options,
    marks: [
      ...(options.marks ?? []),
      (_index, scales) => {
        drawn = drawMarkup(scales);
        return null;
      },
    ],
  });
  svg.querySelector("style")?.remove();
  for (const name of ["xmlns", "xmlns:xlink", "style", "height", "width", "class", "font-family"]) {
    svg.removeAttribute(name);
  }
  svg.setAttribute("class", "figure");
  svg.setAttribute("font-size", "11");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-labelledby", `${id}-title ${id}-desc`);
  const [, opening = "", rest = ""] = /^(<svg[^>]*>)([\s\S]*)$/.exec(svg.outerHTML) ?? [];
  const texts =
    `<title id="${id}-title">${escapeText(title)}</title>` +
    `<desc id="${id}-desc">${escapeText(description)}</desc>`;
  return new Markup(
    opening + texts + compact(rest, id).replace(/<\/svg>$/, () => `${drawn}</svg>`),
  );
}

/** Rounds coordinates to hundredths, and makes identifiers independent of earlier figures. */
function compact(svg: string, id: string): string {
  const names = new Map<string, string>();
  return svg
    .replace(/ (?:d|transform|x|y|x1|x2|y1|y2|cx|cy|r|width|height)="[^"]*"/g, (attribute) =>
      attribute.replace(/-?[\d.]+(?:e-\d+)?/g, (number) =>
        /\.\d{3}/.test(number) ? String(roundTo(Number(number), 2)) : number,
      ),
    )
    .replace(/([#"])(plot-(?:clip|marker)-\d+)([")])/g, (_, before, name, after) => {
      const known = names.get(name) ?? `${id}-part-${names.size}`;
      names.set(name, known);
      return `${before}${known}${after}`;
    });
}

/** Rounds to a number of decimals, never to −0. */
export function roundTo(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale + 0;
}
