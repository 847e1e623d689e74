/**
 * Compares what becomes of the requests of two bundles that answer side by side: whether one is
 * worse than the other, and whether it is as good. Either may be told at any time.
 */
import type { ArmCounts } from "../../server/applications/trial.ts";
import { EDetector } from "../../server/measures/e-detector.ts";
import { BelowTest } from "./below-bet.ts";

/** A block lasts so long and has so many requests of the canary at least. */
const BLOCK_MS = 5000;
const BLOCK_REQUESTS = 20;
/** Chance at most of each mistake: to give up a bundle that is as good, to take one that is not. */
export const MISTAKE = 0.01;
/** Of the bundle beside it as many are looked back on: what disturbed both before is forgotten. */
const BLOCKS_BACK = 12;
/** What is bet against has to be possible. */
const MOST_BOUND = 0.9;

/** Of the bundle that is served, and the one that is tried. */
export interface Arms {
  readonly stable: ArmCounts;
  readonly canary: ArmCounts;
}

export interface ComparisonOptions {
  /** Share of the requests that may be violated beyond those of the stable bundle, 0..1. */
  readonly tolerance: number;
  /** How long it is compared, as far as that is known; a mistake has its chance in that time. */
  readonly timeMs: number;
}

export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #worse = new EDetector();
  readonly #asGood = new BelowTest();
  /** Of the bundle beside it, the last blocks. */
  readonly #stable: ArmCounts[] = [];
  #before: Arms;
  #startMs: number;

  /** @param arms as they are now. */
  constructor(options: ComparisonOptions, arms: Arms, nowMs: number) {
    this.#options = options;
    this.#before = arms;
    this.#startMs = nowMs;
  }

  /** Any time. @param arms as they are now. */
  look(arms: Arms, nowMs: number): void {
    const canary = since(this.#before.canary, arms.canary);
    if (nowMs - this.#startMs < BLOCK_MS || countOf(canary) < BLOCK_REQUESTS) return;
    const { tolerance } = this.#options;
    this.#stable.push(since(this.#before.stable, arms.stable));
    if (this.#stable.length > BLOCKS_BACK) this.#stable.shift();
    const now = shareOf(this.#stable.at(-1) ?? NONE);
    const lately = shareOf(sumOf(this.#stable));
    // What speaks against the canary is held against the more lenient of both, and what speaks for
    // it against the stricter, for the share of a few requests is uncertain.
    const [lenient, strict] = [Math.max(now, lately), Math.min(now, lately)];
    this.#worse.observe(shareOf(canary), Math.min(1, lenient + tolerance));
    const bound = Math.min(MOST_BOUND, strict + 2 * tolerance);
    this.#asGood.observe(canary.kept, canary.violated, bound);
    this.#before = { stable: { ...arms.stable }, canary: { ...arms.canary } };
    this.#startMs = nowMs;
  }

  /** Whether its last blocks speak against the canary. */
  get isDoubted(): boolean {
    return this.#worse.isClimbing;
  }

  /** That it has more violations than the tolerance grants; 1 is enough, of a logarithmic scale. */
  get evidenceAgainst(): number {
    const enough = Math.max(1, Math.ceil(this.#options.timeMs / BLOCK_MS)) / MISTAKE;
    return Math.min(1, Math.log1p(this.#worse.evidence) / Math.log1p(enough));
  }

  /** That it has less than twice the tolerance more of them, on the same scale. */
  get evidenceFor(): number {
    const log = Math.log(this.#asGood.evidence) / Math.log(1 / MISTAKE);
    return Math.min(1, Math.max(0, log));
  }
}

const NONE: ArmCounts = { kept: 0, violated: 0 };

function sumOf(all: readonly ArmCounts[]): ArmCounts {
  return all.reduce((sum, one) => {
    return { kept: sum.kept + one.kept, violated: sum.violated + one.violated };
  }, NONE);
}

function since(before: ArmCounts, now: ArmCounts): ArmCounts {
  return { kept: now.kept - before.kept, violated: now.violated - before.violated };
}

export function countOf({ kept, violated }: ArmCounts): number {
  return kept + violated;
}

/** Of violations; 0 of none. */
export function shareOf(counts: ArmCounts): number {
  const count = countOf(counts);
  return count === 0 ? 0 : counts.violated / count;
}
