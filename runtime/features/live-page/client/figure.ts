/** Figure with a heading, a drawing with a text alternative, a key and a caption. */
import { drawn, element, setText } from "./dom.ts";

export const WIDTH = 380;
export const HEIGHT = 190;
export const FRAME = { left: 46, right: 12, top: 12, bottom: 24 };

export interface KeyEntry {
  readonly name: string;
  /** CSS class of the sample, which sets its colour and dashes. */
  readonly style: string;
  readonly isArea?: boolean;
}

let figureCount = 0;

export class Figure {
  readonly root: HTMLElement;
  readonly #drawing: SVGSVGElement;
  readonly #title: SVGTitleElement;
  readonly #description: SVGDescElement;
  readonly #marks: SVGGElement;
  readonly #key: HTMLElement;
  #keyText = "";

  constructor(heading: string, caption: string, height = HEIGHT) {
    const id = `figure-${figureCount++}`;
    this.#title = drawn("title", { id: `${id}-title` }, heading);
    this.#description = drawn("desc", { id: `${id}-desc` });
    this.#marks = drawn("g");
    this.#drawing = drawn(
      "svg",
      {
        class: "figure",
        viewBox: `0 0 ${WIDTH} ${height}`,
        role: "img",
        "aria-labelledby": `${id}-title ${id}-desc`,
      },
      this.#title,
      this.#description,
      this.#marks,
    );
    this.#key = element("ul", { class: "key" });
    this.root = element(
      "figure",
      {},
      element("h3", {}, heading),
      this.#drawing,
      this.#key,
      element("figcaption", {}, caption),
    );
  }

  /** @param description text alternative of the drawing. */
  show(marks: readonly SVGElement[], description: string): void {
    this.#marks.replaceChildren(...marks);
    setText(this.#description, description);
  }

  set height(height: number) {
    this.#drawing.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  }

  key(entries: readonly KeyEntry[]): void {
    const text = JSON.stringify(entries);
    if (text === this.#keyText) return;
    this.#keyText = text;
    this.#key.replaceChildren(
      ...entries.map(({ name, style, isArea = false }) => {
        const sample = isArea
          ? drawn("rect", { class: `area ${style}`, x: 6, y: 0, width: 14, height: 10 })
          : drawn("path", { class: `line ${style}`, d: "M0 5h26" });
        const drawing = drawn("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, sample);
        return element("li", {}, drawing, name);
      }),
    );
  }
}
