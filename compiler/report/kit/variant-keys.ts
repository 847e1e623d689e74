/**
 * One colour and one letter per variant that a plan uses, the same in every figure. A task is a hue, and its variants go from light to dark with their
 * accuracy. Nothing is told by colour alone: letters and hover texts say it too.
 */
import { html, type Markup } from "../markup.ts";

/** Of neighbouring tasks far apart in hue and, for eyes that do not tell red from green, in yellow and blue. */
const HUES = [285, 75, 165, 10, 240, 125, 330, 205] as const;
const LETTERS = "abcdefghijklmnopqrstuvwxyz";
/** Percent, of the least and of the most accurate variant: on white, on dark. */
const LIGHTNESS = [
  [82, 40],
  [88, 50],
] as const;
const CHROMA = 0.12;

export interface PipelineVariantKey {
  /** Index of the task. */
  readonly task: number;
  /** Index in the task. */
  readonly variant: number;
  readonly taskName: string;
  readonly name: string;
  readonly letter: string;
  /** A reference to a custom property that `variantColors` defines. */
  readonly color: string;
  /** Among the variants of the task that plans use, 0 for the least accurate and 1 for the most. */
  readonly rank: number;
}

/** Declarations of the colours. @param theme 0 on white, 1 on dark. */
export function variantColors(keys: readonly PipelineVariantKey[], theme: 0 | 1): string {
  const [light, dark] = LIGHTNESS[theme];
  return keys
    .map(({ task, rank }, index) => {
      const lightness = light + rank * (dark - light);
      const hue = HUES[task % HUES.length] ?? 0;
      return `--variant-${index}:oklch(${lightness.toFixed(1)}% ${CHROMA} ${hue})`;
    })
    .join(";");
}

/** The letter on its colour; a hollow one for a variant that no plan uses. */
export function chip(key: PipelineVariantKey | undefined): Markup {
  if (key === undefined) return html`<span class="chip unused">–</span>`;
  return html`<span class="chip" style="background:${key.color}">${key.letter}</span>`;
}

/** Of the index of a key. */
export function letterAt(index: number): string {
  const round = Math.floor(index / LETTERS.length);
  return `${LETTERS[index % LETTERS.length] ?? "?"}${round === 0 ? "" : round}`;
}
