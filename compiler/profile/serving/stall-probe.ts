/**
 * Measures how long the host takes a processor away, with a loop that reads the clock. Linux
 * reports the total in steps of 10 ms; most interruptions are shorter.
 */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { spreadOf } from "./spread.ts";

interface ProbeSources {
  /** Clock in ms with fractions. */
  readonly nowMs: () => number;
  /** Returns how often the system has switched this process out. */
  readonly switches: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Shortest gap between readings that counts; shorter ones are the loop or garbage collection. */
const LEAST_MS = 0.2;
/** Time after which the loop yields to other tasks. */
const SLICE_MS = 50;
/** Fewest gaps for quantiles. */
const LEAST_GAPS = 20;

/** Collects gaps that the system did not cause, over all probes. */
export class StallProbe {
  readonly #gapsMs: number[] = [];
  readonly #sources: ProbeSources;

  constructor(sources: ProbeSources) {
    this.#sources = sources;
  }

  /** Keeps one processor busy for `forMs`. @throws the reason of an aborted `sleep`. */
  async look(forMs: number): Promise<void> {
    const { nowMs, sleep } = this.#sources;
    const endMs = nowMs() + forMs;
    while (nowMs() < endMs) {
      this.#slice();
      await sleep(0);
    }
  }

  /** Quantiles of the gaps; null with too few gaps. */
  form(): Spread | null {
    return this.#gapsMs.length < LEAST_GAPS ? null : spreadOf(this.#gapsMs);
  }

  #slice(): void {
    const { nowMs, switches } = this.#sources;
    let lastMs = nowMs();
    const endMs = lastMs + SLICE_MS;
    let seen = switches();
    while (lastMs < endMs) {
      const atMs = nowMs();
      const gapMs = atMs - lastMs;
      lastMs = atMs;
      if (gapMs < LEAST_MS) continue;
      const now = switches();
      if (now === seen) this.#gapsMs.push(gapMs);
      seen = now;
      lastMs = nowMs();
    }
  }
}
