/**
 * Estimator: follows every request of a trace through a configuration, one task after the other,
 * since no task waits for a later one.
 */
import { type BatchRing, batchRing, serveBatches } from "../numeric/batch-queue.ts";
import {
  countLate,
  countLateRequests,
  keepMarked,
  markLate,
  raiseToLongest,
  spreadRows,
  upTo,
} from "../numeric/flow.ts";
import { type Ended, mergeGathered } from "../numeric/merge-gathered.ts";
import { mergeSettled } from "../numeric/merge-settled.ts";
import { selectRank } from "../numeric/selection.ts";
import type { RequestTrace } from "../simulate/graph/visits.ts";
import type { GatherSource } from "./gather-plan.ts";
import { restOf } from "./rest-time.ts";
import { allowedMisses, type ServedTasks, type TaskConfiguration } from "./served-tasks.ts";
import { type PlannedVisits, type VisitPlan, visitPlanOf } from "./visit-plan.ts";

/** Queries of one task, in the order of their events. */
interface Flow {
  count: number;
  atMs: Float64Array;
  /** Row of the task's scope: a request, unless a fan-out made the row. */
  request: Uint32Array;
}

/** Rows that fan-outs made. */
interface MadeRows {
  readonly request: Uint32Array;
  readonly deadlineMs: Float64Array;
  readonly mostOfOne: number;
}

/**
 * Simulates a trace under configurations that are set task by task, in task order. A task may be
 * set repeatedly; the tasks after it are then out of date until they are set again. Results equal
 * those of a discrete-event simulation bit for bit, without its global event queue. Source:
 * InferLine §4.2.
 */
export class FeedForward {
  readonly requestCount: number;
  /** Requests that may miss the SLO. */
  readonly allowedMisses: number;
  readonly visits: VisitPlan;
  /**
   * [2]: the largest batch of the task that was served last, and whether all its replicas were ever
   * busy at once.
   */
  readonly used = new Uint32Array(2);
  readonly #problem: ServedTasks;
  readonly #sloMs: number;
  readonly arrivalMs: Float64Array;
  readonly #deadlineMs: Float64Array;
  /** Indexed by scope; null for rows that are requests. */
  readonly #madeByScope: readonly (MadeRows | null)[];
  /** Per request: the last late count that included it. */
  readonly #stamp: Uint32Array;
  #stampCount = 0;
  /** Per task: least time from its end to the end of the request. */
  readonly #restMs: Float64Array;
  readonly #inputs: Flow[];
  readonly #outputs: Flow[];
  /** Per task: late requests that end there. */
  readonly #misses: Float64Array;
  #ring: BatchRing = batchRing(64);
  readonly #pending: Uint8Array;

  /** @param sloMs that configurations must meet: the problem's SLO, or less. */
  constructor(problem: ServedTasks, trace: RequestTrace, sloMs: number) {
    const { arrivalMs } = trace;
    const visits = visitPlanOf(problem.graph, trace);
    this.#problem = problem;
    this.#sloMs = sloMs;
    this.requestCount = arrivalMs.length;
    this.allowedMisses = allowedMisses(arrivalMs.length, problem.violationCeiling);
    this.visits = visits;
    this.arrivalMs = arrivalMs;
    this.#deadlineMs = arrivalMs.map((ms) => ms + sloMs);
    this.#madeByScope = visits.scopes.map(({ request, mostOfOne }) => {
      if (request === null) return null;
      return {
        request,
        deadlineMs: Float64Array.from(request, (one) => this.#deadlineMs[one] ?? 0),
        mostOfOne,
      };
    });
    this.#stamp = new Uint32Array(visits.scopes.length > 1 ? arrivalMs.length : 0);
    this.#restMs = restOf(problem, visits);
    this.#outputs = visits.stages.map(({ count }) => flow(count));
    this.#inputs = visits.stages.map((stage, index) => this.#inputFlow(stage, index));
    this.#misses = new Float64Array(visits.stages.length);
    this.#pending = new Uint8Array(arrivalMs.length);
  }

  /**
   * Replaces the arrival times of the trace; every task is out of date afterwards.
   * @param arrivalMs same length as before, non-decreasing.
   */
  retime(arrivalMs: Float64Array): void {
    this.arrivalMs.set(arrivalMs);
    for (let request = 0; request < arrivalMs.length; request++) {
      this.#deadlineMs[request] = (arrivalMs[request] ?? 0) + this.#sloMs;
    }
    for (const made of this.#madeByScope) {
      if (made !== null) pick(this.#deadlineMs, made.request, made.deadlineMs);
    }
    for (const [stage, { source, count }] of this.visits.stages.entries()) {
      if (source.kind !== "requests" || count === this.requestCount) continue;
      pick(arrivalMs, source.request, this.#inputOf(stage).atMs);
    }
  }

  /** Computes the ready times of a task from the tasks before it. */
  prepare(stage: number): void {
    const visits = this.#visitsOf(stage);
    const input = this.#inputOf(stage);
    const { source } = visits;
    if (source.kind === "requests") return;
    if (source.kind === "task") {
      const { isVisited } = visits;
      if (!source.isFiltered || isVisited === null) return;
      const { count, atMs, request } = this.#outputOf(source.parent);
      keepMarked(count, atMs, request, isVisited, input.atMs, input.request);
      return;
    }
    if (source.kind === "spread") {
      const { count, atMs, request } = this.#outputOf(source.parent);
      spreadRows(count, atMs, request, source.first, input.atMs, input.request);
      return;
    }
    if (source.kind === "gather") {
      this.#gather(source, input);
      return;
    }
    const pending = this.#pendingOf(visits.scope);
    pending.set(source.waitCount);
    mergeSettled(
      source.origins.map((origin) => (origin < 0 ? this.#arrivals() : this.#outputOf(origin))),
      source.waitsFor,
      pending,
      input,
    );
  }

  #gather({ origins, waiterByOrigin, waitCount, windows }: GatherSource, input: Flow): void {
    const sequences = origins.map((origin, index): Ended => {
      const { count, atMs, request } = origin < 0 ? this.#arrivals() : this.#outputOf(origin);
      return { count, atMs, row: request, waiter: at(waiterByOrigin, index) };
    });
    const pending = Uint32Array.from(waitCount);
    if (windows === null) {
      mergeGathered(sequences, pending, { atMs: input.atMs, row: input.request });
      return;
    }
    const { first, count } = windows;
    const full = flow(waitCount.length);
    const ready = mergeGathered(sequences, pending, { atMs: full.atMs, row: full.request });
    let made = 0;
    for (let position = 0; position < ready; position++) {
      const row = full.request[position] ?? 0;
      for (let window = 0; window < (count[row] ?? 0); window++) {
        input.atMs[made] = full.atMs[position] ?? 0;
        input.request[made++] = (first[row] ?? 0) + window;
      }
    }
  }

  /**
   * Serves a prepared task.
   * @returns requests that are certain to miss the SLO; beyond the limit, the task's results are
   * incomplete.
   */
  serve(stage: number, configuration: TaskConfiguration, missLimit = this.allowedMisses): number {
    const { batchMs } = at(at(this.#problem.stages, stage).hardware, configuration.hardware);
    const { replicas, batch } = configuration;
    const input = this.#inputOf(stage);
    const output = this.#outputOf(stage);
    const atWork = Math.min(replicas, Math.max(1, input.count));
    if (this.#ring.doneMs.length < atWork) this.#ring = batchRing(atWork);
    const made = this.#madeOf(stage);
    // Only the first late query of a request that makes rows counts.
    const late = serveBatches(
      input.count,
      input.atMs,
      input.request,
      this.#problem.hopMs,
      atWork,
      batch,
      batchMs,
      made === null ? this.#deadlineMs : made.deadlineMs,
      this.#restMs[stage] ?? 0,
      made === null ? missLimit : missLimit * made.mostOfOne,
      this.#ring,
      output.atMs,
      output.request,
      this.used,
    );
    const misses = made === null ? late : this.#lateRequests(late, missLimit, made, output, stage);
    this.#misses[stage] = misses;
    return misses;
  }

  /** @param late queries; beyond the limit the output is incomplete. */
  #lateRequests(
    late: number,
    missLimit: number,
    made: MadeRows,
    output: Flow,
    stage: number,
  ): number {
    if (late > missLimit * made.mostOfOne) return Math.ceil(late / made.mostOfOne);
    return late === 0 ? 0 : this.#countLateRequests(made, output, this.#restMs[stage] ?? 0);
  }

  #countLateRequests(made: MadeRows, { count, atMs, request }: Flow, moreMs: number): number {
    const { deadlineMs, request: requestByRow } = made;
    const mark = ++this.#stampCount;
    return countLateRequests(
      count,
      atMs,
      request,
      moreMs,
      deadlineMs,
      requestByRow,
      this.#stamp,
      mark,
    );
  }

  /**
   * Returns the requests that are certain to miss the SLO if no query of a prepared task ever waits
   * there: a lower bound for any number of replicas.
   */
  missesAlone(stage: number, aloneMs: number): number {
    const input = this.#inputOf(stage);
    const { count, atMs, request } = input;
    // Sums in another order differ in the last digits; the factor keeps rounding from making a
    // request late.
    const afterMs = (this.#problem.hopMs + aloneMs + (this.#restMs[stage] ?? 0)) * (1 - 1e-9);
    const made = this.#madeOf(stage);
    if (made !== null) return this.#countLateRequests(made, input, afterMs);
    return countLate(count, atMs, request, afterMs, this.#deadlineMs);
  }

  /** Returns whether the SLO misses are within the limit, once every task is served. */
  isWithin(): boolean {
    let most = 0;
    for (const [stage, { isEnd }] of this.visits.stages.entries()) {
      if (isEnd) most += this.#misses[stage] ?? 0;
    }
    // Requests that end at several tasks are counted several times.
    return most <= this.allowedMisses || this.misses() <= this.allowedMisses;
  }

  /** Returns the number of requests that miss the SLO, once every task is served. */
  misses(): number {
    const ends = this.visits.stages.flatMap(({ isEnd }, stage) => (isEnd ? [stage] : []));
    const [only] = ends;
    if (only !== undefined && ends.length === 1) return this.#misses[only] ?? 0;
    const isLate = new Uint8Array(this.requestCount);
    let misses = 0;
    for (const end of ends) {
      if (this.#misses[end] === 0) continue;
      const { count, atMs, request } = this.#outputOf(end);
      const made = this.#madeOf(end);
      misses +=
        made === null
          ? markLate(count, atMs, request, this.#deadlineMs, isLate)
          : markLate(count, atMs, requestsOf(made, request), this.#deadlineMs, isLate);
    }
    return misses;
  }

  /**
   * Returns arrival to last end per request, once every task is served; 0 for a request that visits
   * no task.
   */
  latenciesMs(): Float64Array {
    const latencyMs = new Float64Array(this.requestCount);
    for (const [stage, { isEnd }] of this.visits.stages.entries()) {
      if (!isEnd) continue;
      const { count, atMs, request } = this.#outputOf(stage);
      const made = this.#madeOf(stage);
      const names = made === null ? request : requestsOf(made, request);
      raiseToLongest(count, atMs, names, this.arrivalMs, latencyMs);
    }
    return latencyMs;
  }

  /**
   * Returns the latency percentile that must meet the SLO, by nearest rank: as many requests as the
   * ceiling allows are above it.
   */
  percentileMs(): number {
    if (this.requestCount === 0) return 0;
    const rank = this.requestCount - this.allowedMisses - 1;
    return selectRank(this.latenciesMs(), 0, this.requestCount, rank);
  }

  /** Returns the median latency, by nearest rank. */
  medianMs(): number {
    if (this.requestCount === 0) return 0;
    const rank = Math.ceil(this.requestCount / 2) - 1;
    return selectRank(this.latenciesMs(), 0, this.requestCount, rank);
  }

  #inputFlow({ source, count }: PlannedVisits, stage: number): Flow {
    if (source.kind === "requests") {
      const { request } = source;
      const isAll = count === this.requestCount;
      const atMs = isAll
        ? this.arrivalMs
        : Float64Array.from(request, (one) => this.arrivalMs[one] ?? 0);
      return { count, atMs, request };
    }
    // The output of the one task is the input of the next.
    if (source.kind === "task" && !source.isFiltered) return this.#outputOf(source.parent);
    return flow(this.#visitsOf(stage).count);
  }

  #arrivals(): Flow {
    const request = upTo(this.requestCount);
    return { count: this.requestCount, atMs: this.arrivalMs, request };
  }

  #madeOf(stage: number): MadeRows | null {
    return this.#madeByScope[this.#visitsOf(stage).scope] ?? null;
  }

  #pendingOf(scope: number): Uint8Array {
    return scope === 0 ? this.#pending : new Uint8Array(this.visits.scopes[scope]?.count ?? 0);
  }

  #visitsOf(stage: number): PlannedVisits {
    return at(this.visits.stages, stage);
  }

  #inputOf(stage: number): Flow {
    return at(this.#inputs, stage);
  }

  #outputOf(stage: number): Flow {
    return at(this.#outputs, stage);
  }
}

/** Copies the values at the given indices, in their order. */
function pick(values: Float64Array, places: Uint32Array, out: Float64Array): void {
  for (let at = 0; at < places.length; at++) out[at] = values[places[at] ?? 0] ?? 0;
}

/** Returns the request of each query. */
function requestsOf({ request }: MadeRows, rows: Uint32Array): Uint32Array {
  return rows.map((row) => request[row] ?? 0);
}

/** Arrays have one extra element, for loops that write before they test. */
function flow(count: number): Flow {
  return { count, atMs: new Float64Array(count + 1), request: new Uint32Array(count + 1) };
}

function at<T>(items: readonly T[], index: number): T {
  const item = items[index];
  if (item === undefined) throw new RangeError("stage index out of range");
  return item;
}
