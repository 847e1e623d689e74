/** Shares such as thirds do not add up exactly. */
export const SHARE_TOLERANCE = 1e-9;

/**
 * Chooses one of exclusive edges by a coin, each with its share.
 * @param coin from 0 to the sum of the shares, or beyond it for none.
 * @param isOneTaken whether one must be taken, which rounding must not prevent.
 * @returns position among the edges, −1 for none.
 */
export function chosenEdge(
  edges: ArrayLike<number>,
  shareByEdge: Float64Array,
  coin: number,
  isOneTaken: boolean,
): number {
  let left = coin;
  for (let position = 0; position < edges.length; position++) {
    left -= shareByEdge[edges[position]!]!;
    if (left < 0) return position;
  }
  return isOneTaken ? edges.length - 1 : -1;
}
