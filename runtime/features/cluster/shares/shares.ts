/** Divides workers among front ends: even shares of every pool with as few moves as possible. */

export interface ShareableWorker {
  readonly name: string;
  readonly pool: string;
  /** Current holder; null for none. */
  readonly holder: string | null;
}

/**
 * Divides workers among front ends. Shares differ by at most one worker in each pool and over all
 * pools. Within a pool as many workers keep their holder as any such division allows; an even
 * division is left unchanged. Depends only on its arguments and not on their order, so that front
 * ends with the same knowledge decide alike.
 * @returns front end by worker, for all workers; empty without front ends.
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

/** Groups workers by pool; pools and workers are sorted by name. */
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
 * Number of workers of a pool per front end. The remainder of an even division goes to the front
 * ends with the fewest workers of earlier pools, then to those that hold the most of this one.
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

/**
 * Keeps workers up to the quota of their holders, and gives the others to front ends below quota.
 */
function fill(
  pool: readonly ShareableWorker[],
  quotas: ReadonlyMap<string, number>,
  assignment: Map<string, string>,
): void {
  const remaining = new Map(quotas);
  const free: ShareableWorker[] = [];
  for (const worker of pool) {
    const left = worker.holder === null ? 0 : (remaining.get(worker.holder) ?? 0);
    if (worker.holder === null || left === 0) free.push(worker);
    else {
      remaining.set(worker.holder, left - 1);
      assignment.set(worker.name, worker.holder);
    }
  }
  for (const [end, left] of [...remaining].sort(([a], [b]) => byName(a, b))) {
    for (const { name } of free.splice(0, left)) assignment.set(name, end);
  }
}

/** Compares by code units, because locales differ between machines. */
function byName(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
