/** Judges a canary: when to promote it and when to roll it back. */
import { PROMISE_WORDS, type PromiseState, percentText } from "../../server/measures/facts.ts";
import { type Arms, Comparison, type ComparisonOptions, countOf, shareOf } from "./comparison.ts";

/**
 * Evidence against a promise that counts as doubt: the stable bundle is then not taken as better
 * than the canary, and the canary is not promoted yet.
 */
const DOUBT = 0.5;

export interface Seen {
  readonly arms: Arms;
  /** Current promises; empty if they are not watched. */
  readonly stablePromises: readonly PromiseState[];
  readonly canaryPromises: readonly PromiseState[];
  readonly isReady: boolean;
}

interface Verdict {
  readonly kind: "as good" | "worse";
  /** Reason, as a phrase after a colon. */
  readonly because: string;
}

export interface Progress {
  /** Range 0 to 1; 1 decides. */
  readonly evidenceFor: number;
  readonly evidenceAgainst: number;
  /** Minimum time until promotion; 0 if only evidence is missing. */
  readonly leftMs: number;
}

export class Judgement {
  readonly #options: ComparisonOptions;
  readonly #comparison: Comparison;
  readonly #startMs: number;

  /** @param arms counts at the start. */
  constructor(options: ComparisonOptions, arms: Arms, nowMs: number) {
    this.#options = options;
    this.#comparison = new Comparison(options, arms, nowMs);
    this.#startMs = nowMs;
  }

  /** Called about once a second. @returns undefined while undecided. */
  look(seen: Seen, nowMs: number): Verdict | undefined {
    const { arms } = seen;
    this.#comparison.look(arms, nowMs);
    const { evidenceAgainst, evidenceFor, isDoubted } = this.#comparison;
    if (evidenceAgainst >= 1) return { kind: "worse", because: violationsText(arms) };
    const broken = brokenAlone(seen);
    if (broken !== undefined) {
      const because = `it breaks a promise: ${PROMISE_WORDS[broken.promise]}: ${broken.because}`;
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

/** Finds a promise that the canary breaks and the stable bundle on the same machine keeps. */
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
  const others = `${percentText(shareOf(stable))} of the stable bundle's ${countOf(stable)}`;
  return `${own}, against ${others}`;
}
