/**
 * Assigns a colour and a letter to each variant, the same in every figure. Colours are never the
 * only information: letters and hover texts repeat it.
 */
import type { Variant } from "stratagem-runtime/internal/bundle/schema";
import { letterAt, positionsOf } from "stratagem-runtime/internal/describe/letters";
import { VARIANT_COLOURS } from "stratagem-runtime/internal/describe/variant-colours";

const GOLDEN_ANGLE = 137.508;

export interface VariantKey {
  /** Index in the bundle. */
  readonly variant: number;
  readonly name: string;
  readonly accuracy: number;
  readonly dominated: boolean;
  readonly letter: string;
  /** Reference to a custom property of `paletteStyle`. */
  readonly color: string;
}

/** Keys by variant index. Letters and colours ascend with accuracy, useful variants first. */
export function variantKeys(variants: readonly Variant[]): VariantKey[] {
  const positions = positionsOf(variants);
  return variants.map(({ name, accuracy, dominated }, variant) => {
    const position = positions[variant] ?? 0;
    const color = `var(--variant-${position})`;
    return { variant, name, accuracy, dominated, letter: letterAt(position), color };
  });
}

/** Declares the colours of the variants. @param theme 0 on white, 1 on dark. */
export function paletteStyle(variantCount: number, theme: 0 | 1): string {
  return Array.from(
    { length: variantCount },
    (_, position) => `--variant-${position}:${colorAt(position, theme)}`,
  ).join(";");
}

function colorAt(position: number, theme: 0 | 1): string {
  const color = VARIANT_COLOURS[position]?.[theme];
  if (color !== undefined) return color;
  const lightness = (theme === 0 ? 45 : 60) + 12 * (position % 2);
  return `oklch(${lightness}% 0.13 ${((position * GOLDEN_ANGLE) % 360).toFixed(1)})`;
}
