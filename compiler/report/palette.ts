/**
 * One colour and one letter per variant, the same in every figure. Nothing is told by colour alone:
 * letters and hover texts say it too.
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
  /** A reference to a custom property that `paletteStyle` defines. */
  readonly color: string;
}

/**
 * Keys by variant index. Letters and colours go from the least accurate variant up, those worth
 * choosing first.
 */
export function variantKeys(variants: readonly Variant[]): VariantKey[] {
  const positions = positionsOf(variants);
  return variants.map(({ name, accuracy, dominated }, variant) => {
    const position = positions[variant] ?? 0;
    const color = `var(--variant-${position})`;
    return { variant, name, accuracy, dominated, letter: letterAt(position), color };
  });
}

/** Declarations of the colours of so many variants. @param theme 0 on white, 1 on dark. */
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
