/**
 * Counts, for points in the plane, the points that cost less and are worth at least as much: sweeps
 * over the costs, with a tree of counts over the worths (P. M. Fenwick, "A New Data Structure for
 * Cumulative Frequency Tables", 1994). n log n steps for n points.
 */

/**
 * @param cost of each point, shape (n,).
 * @param worth of each point, shape (n,).
 * @returns for each point the points of lower cost and no less worth, shape (n,).
 */
export function rivalCounts(cost: Float64Array, worth: Float64Array): Uint32Array {
  const order = Uint32Array.from(cost.keys()).sort((a, b) => cost[a]! - cost[b]!);
  // Ranks from 1, highest worth first, so that a prefix holds the points worth no less.
  const worths = Float64Array.from(new Set(worth)).sort().reverse();
  const rankOf = new Map(Array.from(worths, (value, index) => [value, index + 1]));
  const rank = Uint32Array.from(worth, (value) => rankOf.get(value) ?? 0);
  const tree = new Uint32Array(worths.length + 1);
  const rivals = new Uint32Array(cost.length);
  for (let from = 0; from < order.length; ) {
    let to = from;
    while (to < order.length && cost[order[to]!] === cost[order[from]!]) to++;
    // Points of the same cost are no rivals of each other.
    for (let at = from; at < to; at++) rivals[order[at]!] = countUpTo(tree, rank[order[at]!]!);
    for (let at = from; at < to; at++) addAt(tree, rank[order[at]!]!);
    from = to;
  }
  return rivals;
}

function addAt(tree: Uint32Array, rank: number): void {
  for (let at = rank; at < tree.length; at += at & -at) tree[at] = tree[at]! + 1;
}

function countUpTo(tree: Uint32Array, rank: number): number {
  let count = 0;
  for (let at = rank; at > 0; at -= at & -at) count += tree[at]!;
  return count;
}
