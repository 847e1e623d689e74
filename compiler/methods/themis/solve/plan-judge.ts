/** Figures of a plan under random arrivals: the estimator, on one trace at the load's rate. */
import type { ScaleExpected } from "stratagem-runtime/internal/bundle/schema";
import { FeedForward } from "../../../graph/feed-forward.ts";
import { allowedMisses, type ServedTasks } from "../../../graph/served-tasks.ts";
import type { ThemisFrame } from "../../../model/frames.ts";
import { selectRank } from "../../../numeric/selection.ts";
import { steadyArrivals } from "../../../simulate/arrivals.ts";
import { drawArrivals } from "../../../simulate/graph/drawn-requests.ts";
import { firstRequests, type RequestTrace, tossWays } from "../../../simulate/graph/visits.ts";
import { servedTasksOf } from "./planner.ts";
import type { TaskScale } from "./problem.ts";

/** Requests of the trace: enough to determine a violation rate of 1 % to about a tenth of it. */
export const JUDGED_REQUESTS = 10_000;
/** The first of them, which reject most bad plans. */
const SCREEN_REQUESTS = 1500;
/** A plan with this many times the allowed violations on these is rejected. */
const SCREEN_FACTOR = 6;
const SEED = 1;

/**
 * Judges plans at any load. Nothing is dropped here, so a server that drops late queries has at
 * most as many violations.
 */
export class PlanJudge {
  readonly #stages: ServedTasks;
  readonly #sloMs: number;
  readonly #seed: number;
  /** Arrivals at one request per second. */
  readonly #unitMs: Float64Array;
  readonly #ways: Omit<RequestTrace, "arrivalMs">;
  #loadQps = Number.NaN;
  /** The first requests, and all of them, at the last requested loads. */
  readonly #screen: Timed = { flow: null, loadQps: Number.NaN };
  readonly #whole: Timed = { flow: null, loadQps: Number.NaN };
  readonly #judged = new Map<string, Judged>();

  /** @param seed of the traffic. */
  constructor(frame: ThemisFrame, seed = SEED) {
    const { arrivals, slo } = frame;
    this.#seed = seed;
    this.#stages = servedTasksOf(frame);
    this.#sloMs = slo.latencyMs;
    this.#unitMs = drawArrivals(steadyArrivals(arrivals, 1), 1000 * JUDGED_REQUESTS, seed);
    this.#ways = tossWays(this.#stages.graph, this.#unitMs.length, seed);
  }

  /**
   * Whether a plan keeps violations below a rate; most that do not are rejected on the first
   * requests.
   */
  keeps(violationRate: number, stages: readonly TaskScale[], loadQps: number): boolean {
    this.#turnTo(loadQps);
    const screen = this.#flow(SCREEN_REQUESTS);
    const allowed = allowedMisses(screen.requestCount, SCREEN_FACTOR * violationRate);
    if (!serves(screen, stages, allowed)) return false;
    const key = keyOf(stages);
    const known = this.#judged.get(key);
    if (known !== undefined) return known.expected.violationRate <= violationRate;
    const whole = this.#flow(JUDGED_REQUESTS);
    if (!serves(whole, stages, allowedMisses(whole.requestCount, violationRate))) return false;
    this.#judged.set(key, outcomeOf(whole, this.#seed));
    return true;
  }

  judge(stages: readonly TaskScale[], loadQps: number): Judged {
    this.#turnTo(loadQps);
    const key = keyOf(stages);
    let judged = this.#judged.get(key);
    if (judged === undefined) {
      const whole = this.#flow(JUDGED_REQUESTS);
      serves(whole, stages, Number.POSITIVE_INFINITY);
      judged = outcomeOf(whole, this.#seed);
      this.#judged.set(key, judged);
    }
    return judged;
  }

  #turnTo(loadQps: number): void {
    if (this.#loadQps === loadQps) return;
    this.#loadQps = loadQps;
    this.#judged.clear();
  }

  #flow(requests: number): FeedForward {
    const isScreen = requests === SCREEN_REQUESTS;
    const timed = isScreen ? this.#screen : this.#whole;
    if (timed.flow !== null && timed.loadQps === this.#loadQps) return timed.flow;
    timed.loadQps = this.#loadQps;
    const unitMs = isScreen ? this.#unitMs.subarray(0, requests) : this.#unitMs;
    const arrivalMs = unitMs.map((ms) => ms / this.#loadQps);
    if (timed.flow === null) {
      const all = { ...this.#ways, arrivalMs };
      const trace = isScreen ? firstRequests(all, this.#stages.graph, requests) : all;
      timed.flow = new FeedForward(this.#stages, trace, this.#sloMs);
    } else timed.flow.retime(arrivalMs);
    return timed.flow;
  }
}

export interface Judged {
  readonly expected: ScaleExpected;
  /** Breaks ties between plans that are equal otherwise. */
  readonly meanLatencyMs: number;
}

/** Requests at the times of a load. */
interface Timed {
  flow: FeedForward | null;
  loadQps: number;
}

/** Returns whether a plan has no more violations than allowed; stops as soon as it has more. */
function serves(flow: FeedForward, stages: readonly TaskScale[], allowed: number): boolean {
  for (const [stage, { batch, cores, instances }] of stages.entries()) {
    flow.prepare(stage);
    const configuration = { hardware: cores - 1, batch, replicas: instances };
    if (flow.serve(stage, configuration, allowed) > allowed) return false;
  }
  return flow.misses() <= allowed;
}

function keyOf(stages: readonly TaskScale[]): string {
  let key = "";
  for (const { batch, cores, instances } of stages) key += `${batch},${cores},${instances};`;
  return key;
}

/** Requires that every task is served. */
function outcomeOf(flow: FeedForward, seed: number): Judged {
  const violationRate = flow.misses() / flow.requestCount;
  const latencyMs = flow.latenciesMs();
  const rankOf = (part: number): number => Math.ceil(part * latencyMs.length) - 1;
  const p50 = selectRank(latencyMs, 0, latencyMs.length, rankOf(0.5));
  const p99 = selectRank(latencyMs, 0, latencyMs.length, rankOf(0.99));
  const max = latencyMs.reduce((most, ms) => Math.max(most, ms), 0);
  const expected = {
    violationRate,
    latencyMsP50: p50,
    latencyMsP99: p99,
    latencyMs: { p50, p99, max },
    requests: flow.requestCount,
    seed,
  };
  const meanLatencyMs = latencyMs.reduce((sum, ms) => sum + ms, 0) / latencyMs.length;
  return { expected, meanLatencyMs };
}
