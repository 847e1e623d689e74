/** Half-precision numbers (IEEE 754 binary16), which Node 20 and 22 have no typed array for. */

/**
 * Rounds to the nearest half, ties to even; beyond the largest one, to infinity.
 * @returns its 16 bits.
 */
export function numberToHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (Number.isNaN(magnitude)) return 0x7e00;
  if (magnitude >= 65_520) return sign | 0x7c00;
  // Halves below 2^-14 are subnormal: multiples of 2^-24.
  const exponent = Math.max(-14, Math.floor(Math.log2(magnitude)));
  const ulps = roundHalfEven(magnitude / 2 ** (exponent - 10));
  // The leading bit of a normal number is not stored but adds 1 to the exponent; a carry to 2048
  // does so once more.
  return sign | (ulps + (exponent + 14) * 1024);
}

export function halfToNumber(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
