/** How long batches take on their way to a worker and back. */

/** Ways of which the shortest counts: the others may have waited for a busy server. */
const GROUP = 16;
/** Weight of a group in the average, after the first. */
const WEIGHT = 0.25;

interface Cell {
  /** Average over whole groups. */
  meanMs: number;
  groups: number;
  /** Shortest way of the group that has begun, and the ways in it. */
  leastMs: number;
  count: number;
}

/**
 * The usual way of a variant's batches, by powers of two of their rows. Profiles count the way, so
 * a measured time is comparable with its way only. A server that waits for a processor itself
 * makes all ways longer.
 */
export class WayTimes {
  readonly #cells = new Map<number, Cell>();

  /**
   * Adds the way of a batch.
   * @returns the usual way of such batches, ms; 0 before the first group is full, since the first
   * batches of a worker take the long way.
   */
  add(variant: number, rows: number, wayMs: number): number {
    const cell = this.#cellOf(64 * variant + Math.ceil(Math.log2(Math.max(1, rows))));
    cell.leastMs = Math.min(cell.leastMs, wayMs);
    cell.count++;
    if (cell.count < GROUP) return cell.meanMs;
    cell.meanMs += (cell.groups === 0 ? 1 : WEIGHT) * (cell.leastMs - cell.meanMs);
    cell.groups++;
    cell.leastMs = Number.POSITIVE_INFINITY;
    cell.count = 0;
    return cell.meanMs;
  }

  #cellOf(key: number): Cell {
    const found = this.#cells.get(key);
    if (found !== undefined) return found;
    const cell = { meanMs: 0, groups: 0, leastMs: Number.POSITIVE_INFINITY, count: 0 };
    this.#cells.set(key, cell);
    return cell;
  }
}
