/** Open-loop load: query i is sent at its scheduled arrival, whatever became of the others. */
import { availableParallelism } from "node:os";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { type ArrivalProcess, arrivalSource } from "../simulate/arrivals.ts";
import { InferenceClient } from "./inference-client.ts";
import { type GeneratorOptions, LoadGenerator } from "./load-generator.ts";
import type { LoadOutcome } from "./load-tally.ts";
import { readProcessorTicks, sharesBetween } from "./processor-time.ts";
import { openRowWorkload, type RowOptions } from "./row-workload.ts";
import type { Workload } from "./workload.ts";

export interface LoadOptions extends GeneratorOptions, RowOptions {
  /** Of the server, such as http://127.0.0.1:8000. */
  readonly url: string;
  /** In place of rows: `model`, `classes` and `inputs` say nothing then. */
  readonly workload?: (client: InferenceClient) => Promise<Workload>;
  readonly arrivals: ArrivalProcess;
  /** No query arrives at this time or later. */
  readonly durationMs: number;
  /**
   * Queries sent and answered before the load begins, counted nowhere: they open connections and
   * let both sides compile.
   */
  readonly warmUpQueries: number;
  /** What the warm-up may take; as long as it takes if left out. */
  readonly warmUpLimitMs?: number;
  /** Arrivals of the same process, of the next seed, right before the load; none if left out. */
  readonly leadInMs?: number;
  /** A query is given up when nothing comes for this long. */
  readonly timeoutMs: number;
  /** Told the moment, of `nowMs`, at which the load begins. */
  readonly onStart?: (startMs: number) => void;
}

export interface LoadResult extends LoadOutcome {
  /** By the names of the classes, where queries name any. */
  readonly byClass?: Readonly<Record<string, LoadOutcome>>;
  readonly seed: number;
  readonly durationMs: number;
  readonly sloMs: number | null;
  readonly model: string;
  /** From the first scheduled moment to the last reply. */
  readonly wallMs: number;
  readonly processors: LoadShares;
}

/** Of the time of all processors from the first moment to the last reply, 0..1. */
interface LoadShares {
  /** That this process took, which sends the load. */
  readonly generatorShare: number;
  /** That other guests of the host took; null where the system does not tell. */
  readonly stealShare: number | null;
  /** That anything here took, this process too; null where the system does not tell. */
  readonly busyShare: number | null;
}

/** The arrivals of the simulator's stream: one seed gives both the same ones. */
const ARRIVAL_STREAM = 1;
export const DEFAULT_MAX_OUTSTANDING = 4096;
export const DEFAULT_TIMEOUT_MS = 10_000;

/**
 * Sends the load and waits for the last reply.
 * @throws RuntimeError when there is no such server or model.
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
    const before = arrivalSource(arrivals, new Rng((seed + 1) % 2 ** 32, ARRIVAL_STREAM));
    const nowMs = options.nowMs();
    const startMs = leadInMs === 0 ? nowMs : await generator.leadIn(before, nowMs, leadInMs);
    options.onStart?.(startMs);
    const shares = watchShares();
    await generator.run(
      arrivalSource(arrivals, new Rng(seed, ARRIVAL_STREAM)),
      startMs,
      durationMs,
    );
    const wallMs = options.nowMs() - startMs;
    const outcome = { ...generator.tally.outcome(), ...generator.byClass() };
    const processors = shares(wallMs);
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
      generatorShare: (user + system) / 1000 / (wallMs * availableParallelism()),
      stealShare: shares?.stealShare ?? null,
      busyShare: shares?.busyShare ?? null,
    };
  };
}
