/**
 * Figures as SVG text. They are about as wide as a phone, so that their labels are readable there;
 * wider pages put several side by side.
 */
import * as Plot from "@observablehq/plot";
import { parseHTML } from "linkedom";
import { escapeText, Markup } from "./markup.ts";

export const FIGURE_WIDTH = 380;

export interface FigureText {
  /** Unique in the page. */
  readonly id: string;
  /** What is shown, in a few words. */
  readonly title: string;
  /** What there is to see, for those who cannot. */
  readonly description: string;
}

/** SVG text for the scales of a plot, which escapes what has to be. */
export type DrawMarkup = (scales: Plot.ScaleFunctions) => string;

/**
 * Draws a plot. Colours may be custom properties of the page. @param drawMarkup what is drawn on
 * top, as text: thousands of cells would be slow to make as elements.
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

/** Coordinates to a hundredth, and identifiers that depend on nothing drawn before. */
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

/** Rounded to so many decimals, never to −0. */
export function roundTo(value: number, decimals: number): number {
  const scale = 10 ** decimals;
  return Math.round(value * scale) / scale + 0;
}
