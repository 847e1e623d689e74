/** Powers with the same bits on every Node version. */

/** Most factors for which a product is exact enough. */
const MOST_FACTORS = 64;

/**
 * Computes `base ** exponent` for a non-negative base, or an integer exponent. `**` has different
 * bits on Node 22 and Node 24, and compiled results must not depend on that; products, square
 * roots, Math.exp and Math.log are the same on both.
 */
export function power(base: number, exponent: number): number {
  if (exponent < 0) return 1 / power(base, -exponent);
  if (exponent <= MOST_FACTORS) {
    if (Number.isInteger(exponent)) return product(base, exponent);
    // For example 4 ** 1.5, which is 8.
    if (Number.isInteger(2 * exponent)) return product(Math.sqrt(base), 2 * exponent);
  }
  const size = Math.exp(exponent * Math.log(Math.abs(base)));
  return base < 0 && exponent % 2 !== 0 ? -size : size;
}

function product(factor: number, count: number): number {
  let result = 1;
  for (let times = 0; times < count; times++) result *= factor;
  return result;
}
