/**
 * Assigns a colour to each variant in use, the same in every figure. A task has a hue, and its
 * variants go from light to dark with their accuracy. Colours are never the only information:
 * letters and hover texts repeat it.
 */
import type { Lettered } from "stratagem-runtime/internal/describe/letters";
import { html, type Markup } from "../markup.ts";

/**
 * Neighbouring tasks are far apart in hue and, for red-green colour blindness, in yellow and blue.
 */
const HUES = [285, 75, 165, 10, 240, 125, 330, 205] as const;
/** Percent of the least and the most accurate variant: on white, on dark. */
const LIGHTNESS = [
  [82, 40],
  [88, 50],
] as const;
const CHROMA = 0.12;

export interface PipelineVariantKey extends Lettered {
  /** Reference to a custom property of `variantColors`. */
  readonly color: string;
}

/** Adds the colour of each position. */
export function colored(lettered: readonly Lettered[]): PipelineVariantKey[] {
  return lettered.map((one, index) => ({ ...one, color: `var(--variant-${index})` }));
}

/** Declares the colours. @param theme 0 on white, 1 on dark. */
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

/** Letter on its colour; hollow for an unused variant. */
export function chip(key: PipelineVariantKey | undefined): Markup {
  if (key === undefined) return html`<span class="chip unused">–</span>`;
  return html`<span class="chip" style="background:${key.color}">${key.letter}</span>`;
}
