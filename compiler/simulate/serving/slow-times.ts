/** Slow spells: times in which the host slows a processor down without taking it away. */
import type { Rng } from "stratagem-runtime/internal/core/rng";

/** After this many spells without work, the state is drawn again. */
const FORGOTTEN_SPELLS = 20;

/** Periods in which a processor works slowly. */
export interface SlowSpells {
  /** Share of the time, 0 to 1, both exclusive. */
  readonly share: number;
  /** Slowdown of work in them. */
  readonly factor: number;
  /** Mean duration, ms. */
  readonly spellMs: number;
}

/**
 * Pace of the processor of one worker: spells as profiled and slow ones alternate, each of
 * exponential length. Processors are independent, since the cause of a slowdown runs on the same
 * core.
 */
export class SlowTimes {
  readonly #rng: Rng;
  readonly #share: number;
  readonly #factor: number;
  /** Mean duration of the time between spells, and of a spell. */
  readonly #meanMs: readonly [number, number];
  #isSlow = false;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor({ share, factor, spellMs }: SlowSpells, rng: Rng) {
    this.#rng = rng;
    this.#share = share;
    this.#factor = factor;
    this.#meanMs = [(spellMs * (1 - share)) / share, spellMs];
  }

  /** Returns the duration of work that begins at `fromMs`; calls must be in time order. */
  takesMs(fromMs: number, workMs: number): number {
    this.#goTo(fromMs);
    let leftMs = workMs;
    let atMs = fromMs;
    for (;;) {
      const factor = this.#isSlow ? this.#factor : 1;
      const endMs = atMs + leftMs * factor;
      if (endMs <= this.#untilMs) return endMs - fromMs;
      leftMs -= Math.max(0, this.#untilMs - atMs) / factor;
      atMs = Math.max(atMs, this.#untilMs);
      this.#turn();
    }
  }

  #goTo(nowMs: number): void {
    const longMs = FORGOTTEN_SPELLS * (this.#meanMs[0] + this.#meanMs[1]);
    if (nowMs - this.#untilMs > longMs) {
      this.#isSlow = this.#rng.nextFloat() < this.#share;
      this.#untilMs = nowMs + this.#lengthMs();
    }
    while (this.#untilMs <= nowMs) this.#turn();
  }

  #turn(): void {
    this.#isSlow = !this.#isSlow;
    this.#untilMs += this.#lengthMs();
  }

  #lengthMs(): number {
    return -this.#meanMs[this.#isSlow ? 1 : 0] * Math.log(1 - this.#rng.nextFloat());
  }
}
