/** Summarizes a span of time: arrivals, late requests, and where and when the time was spent. */

import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { decidingLevel } from "stratagem-runtime/internal/describe/deciding-level";
import {
  LatencySample,
  type LatencySummary,
  requestsPerBatch,
} from "../simulate/latency-sample.ts";
import type { Span } from "./asked-span.ts";
import { type Verdict, verdictOf } from "./explained-request.ts";
import type { LoggedRequest } from "./logged-request.ts";
import { BatchBook } from "./ran-batches.ts";
import { SLOW_FACTOR, type TimesProfiledOf } from "./reasons.ts";
import { latencyMs, STEPS, type StepName, stepsOf } from "./steps.ts";
import { type Stillness, StillnessFinder } from "./stillness.ts";

type Verdicts = Readonly<Record<Verdict, number>>;

export interface ExplainedSpan {
  readonly span: Span;
  readonly requests: number;
  readonly rows: number;
  readonly verdicts: Verdicts;
  /** Latency of answered requests; null if there were no answers. */
  readonly latency: LatencySummary | null;
  /** Times of answered requests, step by step. */
  readonly steps: Readonly<Record<StepName, LatencySummary | null>>;
  readonly batches: { readonly count: number; readonly slow: number; readonly lost: number };
  /** Seconds in which a request arrived. */
  readonly seconds: readonly SecondSummary[];
  readonly stillness: readonly Stillness[];
  /** Longest first. */
  readonly slowest: readonly LoggedRequest[];
}

export interface SecondSummary {
  readonly fromMs: number;
  readonly requests: number;
  readonly rows: number;
  readonly late: number;
  readonly dropped: number;
  readonly meanMs: number;
  readonly longestMs: number;
  /** Batches that began in it, and how many of them were slower than their profile. */
  readonly batches: number;
  readonly slow: number;
  /** Load of the level that made most decisions; null if unknown. */
  readonly levelQps: number | null;
}

const MAX_SLOWEST = 8;
const MAX_KEPT = 2 ** 16;

interface Second {
  requests: number;
  rows: number;
  late: number;
  dropped: number;
  sumMs: number;
  longestMs: number;
  batches: number;
  slow: number;
  readonly levels: Map<number, number>;
}

/** Collects requests one by one in bounded memory. */
export class SpanGatherer {
  readonly #span: Span;
  readonly #bundle: Bundle;
  readonly #timesOf: TimesProfiledOf;
  readonly #verdicts: Record<Verdict, number> = {
    ...{ "in time": 0, late: 0, dropped: 0, failed: 0, gone: 0 },
  };
  readonly #latency = new LatencySample(MAX_KEPT);
  readonly #steps = new Map(STEPS.map((name) => [name, new LatencySample(MAX_KEPT)]));
  readonly #seconds = new Map<number, Second>();
  readonly #book = new BatchBook();
  readonly #stillness: StillnessFinder;
  readonly #batches = { count: 0, slow: 0, lost: 0 };
  readonly #byTask = new Map<string | null, { queries: number; batches: number }>();
  #slowest: LoggedRequest[] = [];
  #rows = 0;

  constructor(span: Span, bundle: Bundle, timesOf: TimesProfiledOf) {
    this.#span = span;
    this.#bundle = bundle;
    this.#timesOf = timesOf;
    this.#stillness = new StillnessFinder(span);
  }

  take(request: LoggedRequest): void {
    const { fromMs, toMs } = this.#span;
    if (request.timeMs + request.totalMs < fromMs || request.timeMs >= toMs) return;
    this.#stillness.take(request);
    this.#takeBatches(request);
    if (request.timeMs < fromMs) return;
    const verdict = verdictOf(request, request.sloMs ?? this.#bundle.slo.latencyMs);
    const took = latencyMs(request);
    this.#verdicts[verdict]++;
    const rows = Math.max(1, request.rows);
    this.#rows += rows;
    const second = this.#secondOf(request.timeMs);
    second.requests++;
    second.rows += rows;
    second.sumMs += took;
    second.longestMs = Math.max(second.longestMs, took);
    if (verdict === "late") second.late++;
    if (verdict === "dropped") second.dropped++;
    this.#keepSlowest(request);
    if (verdict !== "in time" && verdict !== "late") return;
    this.#latency.record(took);
    const steps = stepsOf(request);
    for (const [name, sample] of this.#steps) sample.record(steps[name]);
  }

  summary(): ExplainedSpan {
    const sums = [...this.#seconds].sort(([a], [b]) => a - b);
    const answered = this.#verdicts["in time"] + this.#verdicts.late;
    const perBatch = requestsPerBatch(answered, [...this.#byTask.values()]);
    const steps = Object.fromEntries(
      [...this.#steps].map(([name, sample]) => [name, sample.summary(perBatch)]),
    ) as Record<StepName, LatencySummary | null>;
    return {
      span: this.#span,
      requests: Object.values(this.#verdicts).reduce((sum, count) => sum + count, 0),
      rows: this.#rows,
      verdicts: this.#verdicts,
      latency: this.#latency.summary(perBatch),
      steps,
      batches: this.#batches,
      seconds: sums.map(([index, second]) => this.#summaryOf(index, second)),
      stillness: this.#stillness.found(),
      slowest: this.#slowest,
    };
  }

  #takeBatches(request: LoggedRequest): void {
    const { fromMs, toMs } = this.#span;
    for (const batch of this.#book.newOf(request)) {
      if (batch.startMs < fromMs || batch.startMs >= toMs) continue;
      const isSlow = (this.#timesOf(batch) ?? 0) > SLOW_FACTOR;
      const second = this.#secondOf(batch.startMs);
      second.batches++;
      this.#batches.count++;
      const ofTask = this.#byTask.get(batch.run.task) ?? { queries: 0, batches: 0 };
      ofTask.queries += batch.run.batch;
      ofTask.batches++;
      this.#byTask.set(batch.run.task, ofTask);
      if (isSlow) {
        second.slow++;
        this.#batches.slow++;
      }
      if (batch.run.isLost) this.#batches.lost++;
      const { level } = batch.run;
      if (level !== null) second.levels.set(level, (second.levels.get(level) ?? 0) + 1);
    }
  }

  #secondOf(ms: number): Second {
    const index = Math.floor((ms - this.#span.fromMs) / 1000);
    const known = this.#seconds.get(index);
    if (known !== undefined) return known;
    const second: Second = {
      ...{ requests: 0, rows: 0, late: 0, dropped: 0, sumMs: 0, longestMs: 0 },
      ...{ batches: 0, slow: 0, levels: new Map<number, number>() },
    };
    this.#seconds.set(index, second);
    return second;
  }

  #summaryOf(index: number, { sumMs, levels, ...second }: Second): SecondSummary {
    const [most] = [...levels].sort(([, a], [, b]) => b - a);
    const level = most === undefined ? undefined : decidingLevel(this.#bundle, most[0]);
    return {
      fromMs: this.#span.fromMs + 1000 * index,
      ...second,
      meanMs: second.requests === 0 ? 0 : sumMs / second.requests,
      levelQps: level?.loadQps ?? null,
    };
  }

  #keepSlowest(request: LoggedRequest): void {
    const last = this.#slowest.at(-1);
    const isFull = this.#slowest.length >= MAX_SLOWEST;
    if (isFull && last !== undefined && latencyMs(last) >= latencyMs(request)) return;
    const slowest = [...this.#slowest, request].sort((a, b) => latencyMs(b) - latencyMs(a));
    this.#slowest = slowest.slice(0, MAX_SLOWEST);
  }
}

/** Returns the second with the most late and dropped requests; of equals, the slowest. */
export function worstSecond(seconds: readonly SecondSummary[]): SecondSummary | undefined {
  const [worst] = [...seconds].sort((a, b) => {
    return b.late + b.dropped - a.late - a.dropped || b.longestMs - a.longestMs;
  });
  return worst;
}
