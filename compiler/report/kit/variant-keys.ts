/**
 * One colour per variant that a plan uses, the same in every figure. A task is a hue, and its
 * variants go from light to dark with their accuracy. Nothing is told by colour alone: letters and
 * hover texts say it too.
 */
import type { Lettered } from "stratagem-runtime/internal/describe/letters";
import { html, type Markup } from "../markup.ts";

/**
 * Of neighbouring tasks far apart in hue and, for eyes that do not tell red from green, in yellow
 * and blue.
 */
const HUES = [285, 75, 165, 10, 240, 125, 330, 205] as const;
/** Percent, of the least and of the most accurate variant: on white, on dark. */
const LIGHTNESS = [
  [82, 40],
  [88, 50],
] as const;
const CHROMA = 0.12;

export interface PipelineVariantKey extends Lettered {
  /** A reference to a custom property that `variantColors` defines. */
  readonly color: string;
}

/** Each with the colour of its position. */
export function colored(lettered: readonly Lettered[]): PipelineVariantKey[] {
  return lettered.map((one, index) => ({ ...one, color: `var(--variant-${index})` }));
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
