/**
 * Runs load: query i is sent at its scheduled arrival, regardless of the others, or a number of
 * queries is kept in flight.
 */

import { processorsOf } from "stratagem-runtime/internal/base/control-groups";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { type ArrivalProcess, arrivalSource } from "../simulate/arrivals.ts";
import { InferenceClient } from "./inference-client.ts";
import { type GeneratorOptions, LoadGenerator } from "./load-generator.ts";
import type { LoadOutcome } from "./load-tally.ts";
import { readProcessorTicks, sharesBetween } from "./processor-time.ts";
import { openRowWorkload, type RowOptions } from "./row-workload.ts";
import { perBatchBetween, readServedBatches } from "./served-batches.ts";
import type { Workload } from "./workload.ts";

/** Queries in flight, each sent when another is answered. */
export interface ClosedLoop {
  readonly kind: "closed";
  readonly concurrency: number;
}

export interface LoadOptions extends GeneratorOptions, RowOptions {
  /** URL of the server, such as http://127.0.0.1:8000. */
  readonly url: string;
  /** Replaces rows; `model`, `classes` and `inputs` are then ignored. */
  readonly workload?: (client: InferenceClient) => Promise<Workload>;
  readonly arrivals: ArrivalProcess | ClosedLoop;
  /** Queries arrive before this time. */
  readonly durationMs: number;
  /** Uncounted queries before the load, which open connections and let both sides compile code. */
  readonly warmUpQueries: number;
  /** Time limit of the warm-up; default: none. */
  readonly warmUpLimitMs?: number;
  /**
   * Uncounted arrivals of the same process with the next seed, right before the load; default:
   * none.
   */
  readonly leadInMs?: number;
  /** Time without activity after which a query fails. */
  readonly timeoutMs: number;
  /** Called with the start of the load, in `nowMs`. */
  readonly onStart?: (startMs: number) => void;
}

export interface LoadResult extends LoadOutcome {
  /** Keys are class names; left out for queries without classes. */
  readonly byClass?: Readonly<Record<string, LoadOutcome>>;
  readonly seed: number;
  readonly durationMs: number;
  readonly sloMs: number | null;
  readonly model: string;
  /** From the first scheduled arrival to the last reply. */
  readonly wallMs: number;
  readonly processors: LoadShares;
}

/** Shares of the time of all processors from the first arrival to the last reply, 0..1. */
interface LoadShares {
  /** Used by this process, which sends the load. */
  readonly generatorShare: number;
  /** Used by other guests of the host; null if the system does not report it. */
  readonly stealShare: number | null;
  /** Used by all processes, including this one; null if the system does not report it. */
  readonly busyShare: number | null;
}

/** Random stream of the simulator's arrivals, so that a seed gives the same arrivals in both. */
const ARRIVAL_STREAM = 1;
export const DEFAULT_MAX_OUTSTANDING = 4096;
export const DEFAULT_TIMEOUT_MS = 10_000;

/** Seed of the arrivals before a load, which are not counted. */
export function leadInSeed(seed: number): number {
  return (seed + 1) % 2 ** 32;
}

/**
 * Sends the load and waits for the last reply.
 * @throws RuntimeError if the server or model does not exist.
 */
export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const { url, timeoutMs, signal, durationMs, seed, sloMs, arrivals } = options;
  signal.throwIfAborted();
  const client = new InferenceClient({ url, timeoutMs });
  try {
    const workload = await (options.workload?.(client) ?? openRowWorkload(client, options));
    const generator = new LoadGenerator(options, client, workload);
    const { warmUpQueries, warmUpLimitMs = Number.POSITIVE_INFINITY, leadInMs = 0 } = options;
    await generator.warmUp(warmUpQueries, warmUpLimitMs);
    const before = await readServedBatches(client, workload.model);
    let startMs = options.nowMs();
    const isClosed = arrivals.kind === "closed";
    if (!isClosed && leadInMs > 0) {
      const before = arrivalSource(arrivals, new Rng(leadInSeed(seed), ARRIVAL_STREAM));
      startMs = await generator.leadIn(before, startMs, leadInMs);
    }
    options.onStart?.(startMs);
    const shares = watchShares();
    if (isClosed) await generator.runClosed(arrivals.concurrency, startMs, durationMs);
    else {
      const source = arrivalSource(arrivals, new Rng(seed, ARRIVAL_STREAM));
      await generator.run(source, startMs, durationMs);
    }
    const wallMs = options.nowMs() - startMs;
    const processors = shares(wallMs);
    const perBatch = perBatchBetween(before, await readServedBatches(client, workload.model));
    const outcome = { ...generator.tally.outcome(perBatch), ...generator.byClass(perBatch) };
    return { seed, durationMs, sloMs, model: workload.model, wallMs, ...outcome, processors };
  } finally {
    await client.close();
  }
}

function watchShares(): (wallMs: number) => LoadShares {
  const ticks = readProcessorTicks();
  const usage = process.cpuUsage();
  return (wallMs) => {
    const { user, system } = process.cpuUsage(usage);
    const shares = sharesBetween(ticks, readProcessorTicks());
    return {
      generatorShare: (user + system) / 1000 / (wallMs * processorsOf().count),
      stealShare: shares?.stealShare ?? null,
      busyShare: shares?.busyShare ?? null,
    };
  };
}
