/**
 * Searches graphs that are not series-parallel: of several frontiers the points with the fewest
 * cores whose longest path meets a limit.
 */
import { buckets, Frontier, mergeSeries } from "../../../numeric/frontier.ts";
import type { RestPart } from "./composition.ts";

/** Relative difference of latencies that counts as equal. */
const EQUAL = 1e-12;

interface Found {
  readonly cores: number;
  readonly latencyMs: number;
}

/**
 * Depth first, parents before their children and cheapest points first. Bounds for the rest are the
 * longest path at its fastest, and the cores of merged frontiers along disjoint paths. A single
 * part needs no search.
 */
export class PathSearch {
  readonly partCount: number;
  readonly #rest: readonly RestPart[];
  readonly #frontiers: readonly Frontier[];
  /**
   * Disjoint paths that hold every part: for each part the one before it and the one after it on
   * its path, or -1, and the last of its path.
   */
  readonly #before: Int32Array;
  readonly #next: Int32Array;
  readonly #last: Int32Array;
  /** Frontier of each part merged with all parts after it on its path; computed for a search. */
  readonly #behind: readonly Frontier[];
  readonly #buckets = buckets();
  readonly #latencyMs: Float64Array;
  /** Latest end of the parts before each. */
  readonly #startMs: Float64Array;
  /** Longest path from the end of each with all later parts at their fastest. */
  readonly #tailMs: Float64Array;
  readonly #point: Int32Array;
  readonly #bestPoint: Int32Array;
  #bestCores = Number.POSITIVE_INFINITY;
  #bestMs = Number.POSITIVE_INFINITY;

  /**
   * @param rest parents before their children.
   * @param frontiers by part; used only in `cheapest`.
   */
  constructor(rest: readonly RestPart[], frontiers: readonly Frontier[]) {
    const count = rest.length;
    this.partCount = count;
    this.#rest = rest;
    this.#frontiers = frontiers;
    this.#before = new Int32Array(count).fill(-1);
    this.#next = new Int32Array(count).fill(-1);
    this.#last = Int32Array.from(rest.keys());
    this.#buildPaths();
    this.#behind = rest.map(() => new Frontier());
    this.#latencyMs = new Float64Array(count);
    this.#startMs = new Float64Array(count);
    this.#tailMs = new Float64Array(count);
    this.#point = new Int32Array(count);
    this.#bestPoint = new Int32Array(count);
  }

  /**
   * Latency of the longest path.
   * @param latencyMs by part.
   */
  longestMs(latencyMs: Float64Array): number {
    for (let at = 0; at < this.partCount; at++) {
      this.#latencyMs[at] = latencyMs[this.#partOf(at)] as number;
    }
    return this.#findStarts();
  }

  /**
   * Upper bound on each part, given the least latencies of the others.
   * @param limitMs filled for remaining parts.
   */
  limits(allowedMs: number, leastMs: Float64Array, limitMs: Float64Array): void {
    this.longestMs(leastMs);
    this.#findTails();
    for (let at = 0; at < this.partCount; at++) {
      limitMs[this.#partOf(at)] = allowedMs - this.#startOf(at) - this.#tailOf(at);
    }
  }

  /**
   * Ties go to the parts that come first with fewer cores.
   * @param chosen filled for remaining parts: index of its point.
   * @throws RangeError if nothing meets the limit.
   */
  cheapest(limitMs: number, chosen: Int32Array): Found {
    this.#bestCores = Number.POSITIVE_INFINITY;
    this.#bestMs = limitMs;
    if (this.partCount > 1) this.#prepare(limitMs);
    this.#descend(0, 0, limitMs);
    if (this.#bestCores === Number.POSITIVE_INFINITY) {
      throw new RangeError("even the fastest parts exceed the limit");
    }
    for (let at = 0; at < this.partCount; at++) {
      chosen[this.#partOf(at)] = this.#bestPoint[at] as number;
    }
    return { cores: this.#bestCores, latencyMs: this.#bestMs };
  }

  /** Continues each part with its first child that is on no path yet. */
  #buildPaths(): void {
    for (const [at, { parents }] of this.#rest.entries()) {
      const before = parents.find((parent) => this.#next[parent] === -1);
      if (before === undefined) continue;
      this.#before[at] = before;
      this.#next[before] = at;
    }
    for (let at = this.partCount - 1; at >= 0; at--) {
      const next = this.#next[at] as number;
      if (next >= 0) this.#last[at] = this.#last[next] as number;
    }
  }

  #prepare(limitMs: number): void {
    for (let at = this.partCount - 1; at >= 0; at--) {
      const frontier = this.#frontierOf(at);
      this.#latencyMs[at] = frontier.leastMs();
      const behind = this.#behind[at] as Frontier;
      const next = this.#next[at] as number;
      if (next < 0) behind.copyFrom(frontier);
      else mergeSeries(frontier, this.#behind[next] as Frontier, limitMs, this.#buckets, behind);
    }
    this.#findStarts();
    this.#findTails();
  }

  /** Chooses for one part and, recursively, for all after it; the depth is the number of parts. */
  #descend(at: number, coresBefore: number, limitMs: number): void {
    const frontier = this.#frontierOf(at);
    this.#findStarts();
    const slackMs = limitMs - this.#startOf(at) - this.#tailOf(at);
    for (let point = frontier.indexWithin(slackMs); point < frontier.count; point++) {
      const cores = coresBefore + (frontier.cores[point] as number);
      if (cores > this.#bestCores) break;
      this.#point[at] = point;
      this.#latencyMs[at] = frontier.latencyMs[point] as number;
      const endMs = this.#findStarts();
      if (!this.#canImprove(at, cores, endMs, limitMs)) continue;
      if (at + 1 < this.partCount) this.#descend(at + 1, cores, limitMs);
      else this.#keep(cores, endMs);
    }
    this.#latencyMs[at] = frontier.leastMs();
  }

  /**
   * Whether a plan may be cheaper than the best, or as cheap and faster, with the current points up
   * to a part.
   */
  #canImprove(at: number, cores: number, endMs: number, limitMs: number): boolean {
    const fewest = cores + this.#fewestAfter(at, limitMs);
    if (fewest !== this.#bestCores) return fewest < this.#bestCores;
    if (fewest === Number.POSITIVE_INFINITY) return false;
    const fasterMs = this.#bestMs * (1 - EQUAL);
    return endMs <= fasterMs && cores + this.#fewestAfter(at, fasterMs) === fewest;
  }

  #keep(cores: number, endMs: number): void {
    this.#bestCores = cores;
    this.#bestMs = endMs;
    this.#bestPoint.set(this.#point);
  }

  /**
   * Fewest cores of all parts after a part; Infinity if they cannot meet the limit. Uses the starts
   * of the current points.
   */
  #fewestAfter(at: number, limitMs: number): number {
    let sum = 0;
    for (let head = at + 1; head < this.partCount; head++) {
      if ((this.#before[head] as number) > at) continue;
      const behind = this.#behind[head] as Frontier;
      const tailMs = this.#tailOf(this.#last[head] as number);
      const point = behind.indexWithin(limitMs - this.#startOf(head) - tailMs);
      if (point === behind.count) return Number.POSITIVE_INFINITY;
      sum += behind.cores[point] as number;
    }
    return sum;
  }

  /** @returns the end of the longest path, ms. */
  #findStarts(): number {
    let longestMs = 0;
    for (let at = 0; at < this.partCount; at++) {
      const { parents } = this.#rest[at] as RestPart;
      let startMs = 0;
      for (const parent of parents) {
        startMs = Math.max(startMs, this.#startOf(parent) + (this.#latencyMs[parent] as number));
      }
      this.#startMs[at] = startMs;
      longestMs = Math.max(longestMs, startMs + (this.#latencyMs[at] as number));
    }
    return longestMs;
  }

  #findTails(): void {
    this.#tailMs.fill(0);
    for (let at = this.partCount - 1; at >= 0; at--) {
      const { parents } = this.#rest[at] as RestPart;
      const fromMs = this.#tailOf(at) + (this.#latencyMs[at] as number);
      for (const parent of parents) {
        this.#tailMs[parent] = Math.max(this.#tailOf(parent), fromMs);
      }
    }
  }

  #partOf(at: number): number {
    return (this.#rest[at] as RestPart).part;
  }

  #frontierOf(at: number): Frontier {
    return this.#frontiers[this.#partOf(at)] as Frontier;
  }

  #startOf(at: number): number {
    return this.#startMs[at] as number;
  }

  #tailOf(at: number): number {
    return this.#tailMs[at] as number;
  }
}
