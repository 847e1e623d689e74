/** Which front end has which workers: even shares of every pool, with as few moves as can be. */

export interface ShareableWorker {
  readonly name: string;
  readonly pool: string;
  /** The front end that has it now; null for none. */
  readonly holder: string | null;
}

/**
 * Divides workers among front ends. In every pool the shares differ by one worker at most, and so
 * do they over all pools together. Of one pool as many workers stay where they are as any such
 * division allows; where all are as they should be, nothing moves. Depends on nothing but its
 * arguments, and not on their order, so that front ends which know the same decide the same.
 * @returns front end by worker, of every worker; empty where there is no front end.
 */
export function shares(
  frontEnds: readonly string[],
  workers: readonly ShareableWorker[],
): Map<string, string> {
  const assignment = new Map<string, string>();
  const ends = [...new Set(frontEnds)].sort(byName);
  if (ends.length === 0) return assignment;
  const totals = new Map(ends.map((end) => [end, 0]));
  for (const pool of poolsOf(workers)) {
    const quotas = quotasOf(pool, ends, totals);
    for (const [end, quota] of quotas) totals.set(end, (totals.get(end) ?? 0) + quota);
    fill(pool, quotas, assignment);
  }
  return assignment;
}

/** Workers of each pool by name, the pools by theirs. */
function poolsOf(workers: readonly ShareableWorker[]): ShareableWorker[][] {
  const byPool = new Map<string, ShareableWorker[]>();
  for (const worker of workers) {
    const pool = byPool.get(worker.pool);
    if (pool === undefined) byPool.set(worker.pool, [worker]);
    else pool.push(worker);
  }
  const names = [...byPool.keys()].sort(byName);
  return names.map((name) => (byPool.get(name) ?? []).sort((a, b) => byName(a.name, b.name)));
}

/**
 * How many workers of a pool each front end has. What is left over after even shares goes to those
 * that have the fewest of earlier pools, and of these to those that hold the most of this one.
 */
function quotasOf(
  pool: readonly ShareableWorker[],
  ends: readonly string[],
  totals: ReadonlyMap<string, number>,
): Map<string, number> {
  const each = Math.floor(pool.length / ends.length);
  const left = pool.length % ends.length;
  const held = new Map<string, number>();
  for (const { holder } of pool) {
    if (holder !== null) held.set(holder, (held.get(holder) ?? 0) + 1);
  }
  const totalOf = (end: string) => totals.get(end) ?? 0;
  const heldOf = (end: string) => held.get(end) ?? 0;
  const ranked = [...ends].sort(
    (a, b) => totalOf(a) - totalOf(b) || heldOf(b) - heldOf(a) || byName(a, b),
  );
  return new Map(ranked.map((end, rank) => [end, each + (rank < left ? 1 : 0)]));
}

/** Lets workers stay up to the quota of their holder, and gives the others to who has room. */
function fill(
  pool: readonly ShareableWorker[],
  quotas: ReadonlyMap<string, number>,
  assignment: Map<string, string>,
): void {
  const room = new Map(quotas);
  const free: ShareableWorker[] = [];
  for (const worker of pool) {
    const left = worker.holder === null ? 0 : (room.get(worker.holder) ?? 0);
    if (worker.holder === null || left === 0) free.push(worker);
    else {
      room.set(worker.holder, left - 1);
      assignment.set(worker.name, worker.holder);
    }
  }
  for (const [end, left] of [...room].sort(([a], [b]) => byName(a, b))) {
    for (const { name } of free.splice(0, left)) assignment.set(name, end);
  }
}

/** By code units, as no locale is everywhere the same. */
function byName(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
