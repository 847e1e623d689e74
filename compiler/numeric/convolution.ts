/**
 * One term of a convolution: Σ_i x[xFrom + i] · y[yFrom − i · yStride] for i = 0 … count − 1. The
 * caller keeps both within bounds.
 */
export function convolutionTerm(
  count: number,
  x: Float64Array,
  xFrom: number,
  y: Float64Array,
  yFrom: number,
  yStride: number,
): number {
  let sum = 0;
  for (let i = 0; i < count; i++) sum += x[xFrom + i]! * y[yFrom - i * yStride]!;
  return sum;
}
