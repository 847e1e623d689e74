/** Powers that are the same on every Node, down to the last bit. */

/** Products of as many factors are exact enough; larger powers are taken as any others. */
const MOST_FACTORS = 64;

/**
 * `base ** exponent` for a base that is not negative, or a whole exponent. `**` itself ends in
 * other bits on Node 22 than on Node 24, and what is compiled must not depend on that; products,
 * square roots, Math.exp and Math.log are the same on both.
 */
export function power(base: number, exponent: number): number {
  if (exponent < 0) return 1 / power(base, -exponent);
  if (exponent <= MOST_FACTORS) {
    if (Number.isInteger(exponent)) return product(base, exponent);
    // Such as 4 ** 1.5, which is 8.
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
