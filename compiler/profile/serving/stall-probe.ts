/**
 * Measures how long the host takes a processor away, by a loop that looks at the clock. Linux tells
 * how much was taken, in steps of 10 ms, and not in what pieces: most are shorter than one.
 */
import type { Spread } from "stratagem-runtime/internal/bundle/schema";
import { spreadOf } from "./spread.ts";

interface ProbeSources {
  /** Ms, with parts of it. */
  readonly nowMs: () => number;
  /** How often the system itself gave this process's processor to others, so far. */
  readonly switches: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Between two looks at the clock: below that it was the loop, or a collection of its garbage. */
const LEAST_MS = 0.2;
/** The loop gives way to who else is to run here. */
const SLICE_MS = 50;
/** Of fewer no quantiles are made. */
const LEAST_GAPS = 20;

/** Gaps that are not the system's doing, from one probe to the next. */
export class StallProbe {
  readonly #gapsMs: number[] = [];
  readonly #sources: ProbeSources;

  constructor(sources: ProbeSources) {
    this.#sources = sources;
  }

  /** Keeps one processor busy for so long. @throws the reason of an aborted `sleep`. */
  async look(forMs: number): Promise<void> {
    const { nowMs, sleep } = this.#sources;
    const endMs = nowMs() + forMs;
    while (nowMs() < endMs) {
      this.#slice();
      await sleep(0);
    }
  }

  /** Quantiles of the gaps; null where there are too few for that. */
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
