/** Counts the outcomes of requests on a slower machine, after its pace is known. */
import type { PaceFigures, Slo } from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import { briefPromise } from "../simulate/latency-sample.ts";
import type { OnOutcome } from "../simulate/outcomes.ts";
import type { QueueOutcome } from "../simulate/queue-times.ts";

/** Requests of the first heartbeats are served while the pace is measured and plans change. */
const SETTLED_BEATS = 2;

export function settledMs(slo: Slo): number {
  return SETTLED_BEATS * beatMsOf(slo);
}

/** Counts the requests that arrive after the settling time. */
export class SettledOutcomes {
  readonly #sloMs: number;
  readonly #fromMs: number;
  readonly #latenciesMs: number[] = [];
  #queries = 0;
  #violations = 0;

  constructor(sloMs: number, fromMs: number) {
    this.#sloMs = sloMs;
    this.#fromMs = fromMs;
  }

  readonly count: OnOutcome = (arrivalMs, latencyMs) => {
    if (arrivalMs < this.#fromMs) return;
    this.#queries++;
    if (!(latencyMs <= this.#sloMs)) this.#violations++;
    if (!Number.isNaN(latencyMs)) this.#latenciesMs.push(latencyMs);
  };

  /**
   * @param accuracyPerSatisfied null if no request was satisfied. @param queueMs of the same
   * requests.
   */
  figures(
    pace: number,
    { accuracyPerSatisfied, queueMs }: { accuracyPerSatisfied: number | null } & QueueOutcome,
  ): PaceFigures {
    const latencies = this.#latenciesMs.toSorted((a, b) => a - b);
    const percentile = (part: number): number =>
      latencies[Math.ceil(part * latencies.length) - 1] ?? 0;
    const violationRate = this.#queries === 0 ? 0 : this.#violations / this.#queries;
    return {
      pace,
      accuracyPerQuery: (accuracyPerSatisfied ?? 0) * (1 - violationRate),
      violationRate,
      p50: percentile(0.5),
      p99: percentile(0.99),
      queueMs: briefPromise(queueMs),
    };
  }
}
