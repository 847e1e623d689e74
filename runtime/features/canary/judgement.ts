/** What becomes of a bundle that is tried: when it is taken, and when it is given up. */
import { PROMISE_WORDS, type PromiseState, percentText } from "../../server/measures/facts.ts";
import { type Arms, Comparison, type ComparisonOptions, countOf, shareOf } from "./comparison.ts";

/**
 * Evidence against a promise that is a doubt: of the stable bundle, that it is no better than the
 * canary; of the canary, that it is not to be taken yet.
 */
const DOUBT = 0.5;

export interface Seen {
  readonly arms: Arms;
  /** Promises of either, as they stand; none where nobody watches them. */
  readonly stablePromises: readonly PromiseState[];
  readonly canaryPromises: readonly PromiseState[];
  /** Whether the workers of the canary are ready. */
  readonly isReady: boolean;
}

interface Verdict {
  readonly kind: "as good" | "worse";
  /** In words, after "since". */
  readonly because: string;
}

export interface Progress {
  /** 0 to 1, which is enough. */
  readonly evidenceFor: number;
  readonly evidenceAgainst: number;
  /** Until it may be taken, at least; 0 where only evidence is wanting. */
  readonly leftMs: number;
}

export class Judgement {
  readonly #options: ComparisonOptions;
  readonly #comparison: Comparison;
  readonly #startMs: number;

  /** @param arms as they are now, when it begins. */
  constructor(options: ComparisonOptions, arms: Arms, nowMs: number) {
    this.#options = options;
    this.#comparison = new Comparison(options, arms, nowMs);
    this.#startMs = nowMs;
  }

  /** About once a second. @returns undefined while it is open. */
  look(seen: Seen, nowMs: number): Verdict | undefined {
    const { arms } = seen;
    this.#comparison.look(arms, nowMs);
    const { evidenceAgainst, evidenceFor, isDoubted } = this.#comparison;
    if (evidenceAgainst >= 1) return { kind: "worse", because: violationsText(arms) };
    const broken = brokenAlone(seen);
    if (broken !== undefined) {
      const because = `its promise is broken: ${PROMISE_WORDS[broken.promise]}: ${broken.because}`;
      return { kind: "worse", because };
    }
    const isOver = nowMs - this.#startMs >= this.#options.timeMs;
    const holds = seen.canaryPromises.every((one) => one.holds && one.evidence < DOUBT);
    if (!isOver || evidenceFor < 1 || isDoubted || !holds || !seen.isReady) return undefined;
    return { kind: "as good", because: violationsText(arms) };
  }

  progress(nowMs: number): Progress {
    const { evidenceFor, evidenceAgainst } = this.#comparison;
    const leftMs = Math.max(0, this.#startMs + this.#options.timeMs - nowMs);
    return { evidenceFor, evidenceAgainst, leftMs };
  }
}

/** A promise that the canary breaks and the other bundle, on the same machine, does not. */
function brokenAlone({ stablePromises, canaryPromises }: Seen): PromiseState | undefined {
  return canaryPromises.find(({ promise, holds }) => {
    if (holds) return false;
    const other = stablePromises.find((one) => one.promise === promise);
    return other === undefined || (other.holds && other.evidence < DOUBT);
  });
}

function violationsText({ stable, canary }: Arms): string {
  const ownShare = percentText(shareOf(canary));
  const own = `${ownShare} of its ${countOf(canary)} requests are late or failed`;
  return `${own}, of the ${countOf(stable)} beside it ${percentText(shareOf(stable))}`;
}
