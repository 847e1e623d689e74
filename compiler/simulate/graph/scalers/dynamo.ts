/**
 * NVIDIA Dynamo's planner: at least the forecast rate over the capacity of a replica, and one
 * replica more or fewer by the latency that a query would have now.
 *
 * Source: the documentation of Dynamo, `docs/design-docs/planner-design.md`, with both modes on.
 * Correspondence: TTFT and ITL are the latency of a query in the stage, whose SLA is the stage's
 * part of the SLO; engines share a queue, so all of them have the same estimate, of whole batches
 * before the query and its own; a replica's capacity is that of the largest batch within the SLA.
 * Fixed here: auto-ARIMA is ARIMA(1, 1, 0) by least squares, constant before it has five intervals.
 */
import {
  type Scaler,
  type StageFacts,
  type StageScaler,
  type StageState,
  scalerOf,
} from "./scaler.ts";
import { WindowMean } from "./window-mean.ts";

interface DynamoOptions {
  readonly [option: string]: number | string;
  readonly throughputIntervalS: number;
  /** A latency below this part of the SLA removes a replica. */
  readonly sensitivity: number;
  readonly predictor: "arima" | "constant";
}

const LOAD_MS = 5000;
const WARM_UP_INTERVALS = 5;
/** Fractions of the stage's SLA. */
const TARGETS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 1, 1.5];

export const dynamo: Scaler = scalerOf<DynamoOptions>({
  periodMs: LOAD_MS,
  target: 1,
  options: { throughputIntervalS: 180, sensitivity: 0.8, predictor: "arima" },
  tried: [
    { options: {}, targets: TARGETS },
    { options: { sensitivity: 0.5 }, targets: TARGETS },
    {
      options: { throughputIntervalS: 60, sensitivity: 0.5, predictor: "constant" },
      targets: TARGETS,
    },
  ],
  open: (facts, target, options) => new Planner(facts, target, options),
});

class Planner implements StageScaler {
  readonly #batchMs: Float64Array;
  readonly #slaMs: number;
  readonly #options: DynamoOptions;
  readonly #capacityQps: number;
  readonly #waiting = new WindowMean(1);
  /** Rates of past intervals, oldest first. */
  readonly #rates: number[] = [];
  #intervalMs = 0;
  #counted = 0;
  #least = 1;

  constructor({ batchMs, shareMs }: StageFacts, target: number, options: DynamoOptions) {
    this.#batchMs = batchMs;
    this.#slaMs = target * shareMs;
    this.#options = options;
    this.#capacityQps = capacityOf(batchMs, this.#slaMs);
  }

  decide(state: StageState): number {
    const { nowMs, target, ready, arrived, waitingMs } = state;
    this.#waiting.push(nowMs, waitingMs);
    const intervalMs = 1000 * this.#options.throughputIntervalS;
    if (nowMs - this.#intervalMs >= intervalMs - 1e-6) {
      this.#rates.push((1000 * (arrived - this.#counted)) / (nowMs - this.#intervalMs));
      this.#counted = arrived;
      this.#intervalMs = nowMs;
      this.#least = Math.max(1, Math.ceil(this.#forecastQps() / this.#capacityQps));
    }
    // No decision while replicas start.
    if (ready < target) return target;
    return Math.max(this.#least, target + this.#change(ready));
  }

  #change(ready: number): number {
    const estimateMs = this.#estimateMs(this.#waiting.over(LOAD_MS) / Math.max(1, ready));
    if (estimateMs > this.#slaMs) return 1;
    return estimateMs < this.#options.sensitivity * this.#slaMs ? -1 : 0;
  }

  /** @param waiting queries per engine. */
  #estimateMs(waiting: number): number {
    const most = this.#batchMs.length;
    const queries = Math.ceil(waiting) + 1;
    const whole = Math.floor((queries - 1) / most);
    const rest = queries - whole * most;
    return whole * (this.#batchMs[most - 1] ?? 0) + (this.#batchMs[rest - 1] ?? 0);
  }

  #forecastQps(): number {
    const last = this.#rates.at(-1) ?? 0;
    const isWarm = this.#rates.length >= WARM_UP_INTERVALS;
    if (this.#options.predictor === "constant" || !isWarm) return last;
    return Math.max(0, last + nextDifference(this.#rates));
  }
}

/** Capacity with the largest batch within a time; with a single query if none is within it. */
function capacityOf(batchMs: Float64Array, slaMs: number): number {
  const within = batchMs.filter((ms) => ms <= slaMs).length;
  const batch = Math.max(1, within);
  return (1000 * batch) / (batchMs[batch - 1] ?? Number.NaN);
}

/**
 * ARIMA(1, 1, 0) without drift: the last difference times the regression of differences on their
 * predecessors.
 */
function nextDifference(values: readonly number[]): number {
  const differences = values.slice(1).map((value, at) => value - (values[at] ?? 0));
  let products = 0;
  let squares = 0;
  for (let at = 1; at < differences.length; at++) {
    const before = differences[at - 1] ?? 0;
    products += before * (differences[at] ?? 0);
    squares += before * before;
  }
  const weight = squares > 0 ? Math.max(-1, Math.min(1, products / squares)) : 0;
  return weight * (differences.at(-1) ?? 0);
}
