/** Requests sent to a server: its plans follow those before a run as well. */
import type { ArrivalProcess } from "../simulate/arrivals.ts";

/** Arrivals of a run behind those that its server still follows. */
export interface FollowedArrivals {
  readonly arrivals: ArrivalProcess;
  /** Start of the run, ms. */
  readonly countedFromMs: number;
}

/** Times are ms since 1970, in order. */
export class SentHistory {
  readonly #beatMs: number;
  readonly #followedMs: number;
  readonly #sentMs: number[] = [];

  /** @param beats of the server after which it forgets a load. */
  constructor(beatMs: number, beats: number) {
    this.#beatMs = beatMs;
    this.#followedMs = beats * beatMs;
  }

  /** @param atMs since the start, in any order, and not before what was added earlier. */
  add(startMs: number, atMs: Float64Array): void {
    for (const ms of atMs.toSorted()) this.#sentMs.push(startMs + ms);
  }

  /** Returns those of a run; call before it is added. @param atMs since the start of the run. */
  before(startMs: number, atMs: Float64Array): FollowedArrivals {
    const [firstMs = startMs] = this.#sentMs;
    const fromMs = Math.max(firstMs, startMs - this.#followedMs);
    const followed = this.#sentMs.filter((ms) => ms >= fromMs && ms < startMs);
    const countedFromMs = startMs - fromMs;
    const run = Array.from(atMs.toSorted(), (ms) => ms + countedFromMs);
    const arrivalMs = Float64Array.from([...followed.map((ms) => ms - fromMs), ...run]);
    const trace = { kind: "arrivals", arrivalMs } as const;
    return { arrivals: { kind: "trace", trace, startQps: this.#qpsAt(fromMs) }, countedFromMs };
  }

  /** NaN before the first request. */
  #qpsAt(atMs: number): number {
    const [firstMs = atMs] = this.#sentMs;
    if (atMs <= firstMs) return Number.NaN;
    const ofMs = Math.min(this.#beatMs, atMs - firstMs);
    const count = this.#sentMs.filter((ms) => ms >= atMs - ofMs && ms < atMs).length;
    return (1000 * count) / ofMs;
  }
}
