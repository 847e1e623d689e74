/**
 * Compares the outcomes of two bundles that answer side by side: whether one is worse, and whether
 * it is as good as the other. Both tests may be read at any time.
 */
import type { ArmCounts } from "../../server/applications/trial.ts";
import { EDetector } from "../../server/measures/e-detector.ts";
import { BelowTest } from "./below-test.ts";

/** Minimum duration and number of canary requests of a block. */
const BLOCK_MS = 5000;
const BLOCK_REQUESTS = 20;
/**
 * Upper bound of the probability of each mistake: rejecting a good bundle, accepting a worse one.
 */
export const MISTAKE = 0.01;
/** Blocks of the stable bundle that are remembered, so that past disturbances are forgotten. */
const BLOCKS_BACK = 12;
/** Highest bound of a failure rate that the test accepts. */
const MOST_BOUND = 0.9;

/** Counts of the stable bundle and of the canary. */
export interface Arms {
  readonly stable: ArmCounts;
  readonly canary: ArmCounts;
}

export interface ComparisonOptions {
  /** Share of requests that may be violated beyond the stable bundle's, 0..1. */
  readonly tolerance: number;
  /** Expected duration of the comparison, for which the probability of a mistake holds. */
  readonly timeMs: number;
}

export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #worse = new EDetector();
  readonly #asGood = new BelowTest();
  /** Last blocks of the stable bundle. */
  readonly #stable: ArmCounts[] = [];
  #before: Arms;
  #startMs: number;

  /** @param arms current counts. */
  constructor(options: ComparisonOptions, arms: Arms, nowMs: number) {
    this.#options = options;
    this.#before = arms;
    this.#startMs = nowMs;
  }

  /** Called at any time. @param arms current counts. */
  look(arms: Arms, nowMs: number): void {
    const canary = since(this.#before.canary, arms.canary);
    if (nowMs - this.#startMs < BLOCK_MS || countOf(canary) < BLOCK_REQUESTS) return;
    const { tolerance } = this.#options;
    this.#stable.push(since(this.#before.stable, arms.stable));
    if (this.#stable.length > BLOCKS_BACK) this.#stable.shift();
    const now = shareOf(this.#stable.at(-1) ?? NONE);
    const lately = shareOf(sumOf(this.#stable));
    // Because a share of few requests is uncertain, evidence against the canary uses the more
    // lenient of both shares, and evidence for it the stricter.
    const [lenient, strict] = [Math.max(now, lately), Math.min(now, lately)];
    this.#worse.observe(shareOf(canary), Math.min(1, lenient + tolerance));
    const bound = Math.min(MOST_BOUND, strict + 2 * tolerance);
    this.#asGood.observe(canary.kept, canary.violated, bound);
    this.#before = { stable: { ...arms.stable }, canary: { ...arms.canary } };
    this.#startMs = nowMs;
  }

  /** Whether recent blocks count against the canary. */
  get isDoubted(): boolean {
    return this.#worse.isClimbing;
  }

  /** Evidence that violations exceed the tolerance, on a logarithmic scale; 1 decides. */
  get evidenceAgainst(): number {
    const enough = Math.max(1, Math.ceil(this.#options.timeMs / BLOCK_MS)) / MISTAKE;
    return Math.min(1, Math.log1p(this.#worse.evidence) / Math.log1p(enough));
  }

  /**
   * Evidence that they exceed the stable bundle's by less than twice the tolerance, on the same
   * scale.
   */
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

/** Share of violations; 0 without requests. */
export function shareOf(counts: ArmCounts): number {
  const count = countOf(counts);
  return count === 0 ? 0 : counts.violated / count;
}
