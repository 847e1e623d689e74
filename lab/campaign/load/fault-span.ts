/** What became of the requests that were sent in a span of time. */
import type { Asked } from "../open-load.ts";

export class Span {
  readonly sent: number;
  /** Answered with 200 in time, and after the SLO. */
  readonly good: number;
  readonly late: number;
  readonly unanswered: number;
  /** Refused or failed, but for words; and those that say that something failed. */
  readonly unreasoned: number;
  readonly failed: number;
  readonly longestMs: number;
  readonly #reasons = new Map<string, number>();

  constructor(all: readonly Asked[], sloMs: number, fromMs: number, toMs: number) {
    const own = all.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs);
    const refused = own.filter(({ status }) => status !== undefined && status !== 200);
    this.sent = own.length;
    this.good = own.filter((one) => isGood(one, sloMs)).length;
    this.unanswered = own.filter(({ status }) => status === undefined).length;
    this.late = this.sent - this.good - this.unanswered - refused.length;
    this.failed = refused.filter(({ status }) => status === 500).length;
    this.unreasoned = refused.filter(({ reason }) => !/\w/.test(reason)).length;
    this.longestMs = Math.max(0, ...own.map(({ sentMs, endMs }) => endMs - sentMs));
    for (const { status, reason } of refused) {
      const words = `${status} ${reason}`.replace(/\d+(\.\d+)? ms/g, "… ms").slice(0, 60);
      this.#reasons.set(words, 1 + (this.#reasons.get(words) ?? 0));
    }
  }

  /** Share late, refused, failed or not answered. */
  get badShare(): number {
    return this.sent === 0 ? 0 : 1 - this.good / this.sent;
  }

  get told(): string {
    const { sent, good, late, unanswered } = this;
    const reasons = [...this.#reasons].map(([words, count]) => `, ${count} x ${words}`).join("");
    const lost = unanswered > 0 ? `, ${unanswered} unanswered` : "";
    return `${sent} sent, ${good} in time, ${late} late${reasons}${lost}`;
  }
}

function isGood({ status, sentMs, endMs }: Asked, sloMs: number): boolean {
  return status === 200 && endMs - sentMs <= sloMs;
}

/**
 * From a time on, how long it takes until what was sent later is as good as it should be, ms.
 * @param share of the rest that may be bad; one request may be in any case.
 */
export function wellAfterMs(
  all: readonly Asked[],
  sloMs: number,
  fromMs: number,
  toMs: number,
  share: number,
): number {
  const own = all.filter(({ sentMs }) => sentMs >= fromMs && sentMs < toMs);
  let bad = own.filter((one) => !isGood(one, sloMs)).length;
  for (const [at, one] of own.entries()) {
    if (bad <= Math.max(1, share * (own.length - at))) return Math.max(0, one.sentMs - fromMs);
    if (!isGood(one, sloMs)) bad--;
  }
  return 0;
}
