/** Measures workers without a server: concurrently, and after idle periods. */
import type { Batch } from "stratagem-runtime/internal/exec/models/executor";
import { type InputsOf, runBatch } from "../measure.ts";
import type { ProfilePlan } from "../profile-plan.ts";
import { type ProfiledWorker, startWorkers, type WorkerSources } from "../profiled-worker.ts";
import type { LoopClock } from "./request-loops.ts";
import type { WorkerSamples } from "./serving-rows.ts";

export interface WorkerEffort {
  /** Most workers that are busy at once. */
  readonly width: number;
  /** Most rounds of each variant, and the time after which no round but the first begins. */
  readonly rounds: number;
  readonly withinMs: number;
  /** Duration of each concurrency level of a round. */
  readonly spellMs: number;
  /** Runs of each kind that measure the cost of waking. */
  readonly wakes: number;
  /** Index of the variant to wake; null for the fastest. */
  readonly woken: number | null;
}

/** Reports progress. */
type OnProgress = (done: number, total: number) => void;

/**
 * Range of run times that measure contention well. For shorter runs, dispatching them uses a part
 * of the processors that is not the workers'.
 */
const LEAST_MS = 4;
const MOST_MS = 200;
const TRIED_RUNS = 5;

/** @throws as `startWorkers` and `runBatch`. */
export async function measureWorkers(
  plan: ProfilePlan,
  inputsOf: InputsOf,
  effort: WorkerEffort,
  sources: WorkerSources &
    LoopClock & { readonly gapMs: () => number; readonly onProgress: OnProgress },
): Promise<Omit<WorkerSamples, "isOfPath">> {
  const all = [...plan.variants.keys()];
  const held = Array.from({ length: effort.width }, () => all);
  const { workers, close } = await startWorkers(plan, held, sources);
  try {
    const runs = new Runs(plan, inputsOf, workers, sources);
    const chosen = chosenVariants(await runs.typicalMs(all, LARGEST));
    // A slow variant would hide the cost of waking.
    const woken = effort.woken ?? quickest(await runs.typicalMs(all, SMALLEST));
    const steadyMs: number[] = [];
    const wokenMs: number[] = [];
    const contention: number[][][] = chosen.map(() => []);
    const startMs = sources.nowMs();
    for (let round = 0; round < effort.rounds; round++) {
      if (round > 0 && sources.nowMs() - startMs > effort.withinMs) break;
      for (const [at, variant] of chosen.entries()) {
        const means: number[] = [];
        for (let width = 1; width <= effort.width; width++) {
          means.push(await runs.besideMs(variant, width, effort.spellMs));
        }
        contention[at]?.push(means);
      }
      const count = Math.ceil(effort.wakes / effort.rounds);
      steadyMs.push(...(await runs.timesMs(woken, count, () => 0)));
      wokenMs.push(...(await runs.timesMs(woken, count, sources.gapMs)));
      sources.onProgress(round + 1, effort.rounds);
    }
    return { steadyMs, wokenMs, contention };
  } finally {
    await close();
  }
}

function quickest(ms: readonly number[]): number {
  return ms.indexOf(Math.min(...ms));
}

/** Returns the fastest and the slowest variant within the useful range. @param ms of each. */
function chosenVariants(ms: readonly number[]): number[] {
  const order = [...ms.keys()].sort((a, b) => (ms[a] ?? 0) - (ms[b] ?? 0));
  const fitting = order.filter((at) => (ms[at] ?? 0) >= LEAST_MS && (ms[at] ?? 0) <= MOST_MS);
  const quick = order.filter((at) => (ms[at] ?? 0) < LEAST_MS);
  const usable =
    fitting.length > 0 ? fitting : quick.length > 0 ? quick.slice(-1) : order.slice(0, 1);
  return [...new Set([usable[0] ?? 0, usable[usable.length - 1] ?? 0])];
}

/** Index into the planned batches of a variant. */
const SMALLEST = 0;
const LARGEST = -1;

class Runs {
  readonly #plan: ProfilePlan;
  readonly #inputsOf: InputsOf;
  readonly #workers: readonly ProfiledWorker[];
  readonly #sources: LoopClock & Pick<WorkerSources, "signal">;
  readonly #inputsByBatch = new Map<string, Batch["inputs"]>();

  constructor(
    plan: ProfilePlan,
    inputsOf: InputsOf,
    workers: readonly ProfiledWorker[],
    sources: LoopClock & Pick<WorkerSources, "signal">,
  ) {
    this.#plan = plan;
    this.#inputsOf = inputsOf;
    this.#workers = workers;
    this.#sources = sources;
  }

  /** Shortest of some runs of each variant, after one on every worker. */
  async typicalMs(variants: readonly number[], batch: number): Promise<number[]> {
    const typical: number[] = [];
    for (const variant of variants) {
      await Promise.all(this.#workers.map((_, worker) => this.#runMs(worker, variant, batch)));
      typical.push(Math.min(...(await this.timesMs(variant, TRIED_RUNS, () => 0, batch))));
    }
    return typical;
  }

  /** Times runs on the first worker, each after a pause. */
  async timesMs(
    variant: number,
    count: number,
    gapMs: () => number,
    batch = SMALLEST,
  ): Promise<number[]> {
    const times: number[] = [];
    for (let run = 0; run < count; run++) {
      const ms = gapMs();
      if (ms > 0) await this.#sources.sleep(ms);
      times.push(await this.#runMs(0, variant, batch));
    }
    return times;
  }

  /** Mean time of runs of the largest batch with `width` workers busy. */
  async besideMs(variant: number, width: number, forMs: number): Promise<number> {
    const { nowMs } = this.#sources;
    const endMs = nowMs() + forMs;
    let [sum, count] = [0, 0];
    const lane = async (worker: number): Promise<void> => {
      for (let first = true; first || nowMs() < endMs; first = false) {
        const ms = await this.#runMs(worker, variant, LARGEST);
        sum += ms;
        count++;
      }
    };
    await Promise.all(Array.from({ length: width }, (_, worker) => lane(worker)));
    return sum / Math.max(1, count);
  }

  /** Cached: generating inputs takes processor time from the workers. */
  #inputs(index: number, rows: number): Batch["inputs"] {
    const key = `${index} ${rows}`;
    const known = this.#inputsByBatch.get(key);
    if (known !== undefined) return known;
    const inputs = this.#inputsOf(index, rows, 0).map((bytes) => [bytes]);
    this.#inputsByBatch.set(key, inputs);
    return inputs;
  }

  async #runMs(place: number, index: number, batch: number): Promise<number> {
    const { nowMs, signal } = this.#sources;
    signal.throwIfAborted();
    const variant = this.#plan.variants[index];
    const worker = this.#workers[place];
    if (variant === undefined || worker === undefined) throw new TypeError("a run has a worker");
    const rows = variant.batches.at(batch) ?? 1;
    const inputs = this.#inputs(index, rows);
    const startMs = nowMs();
    await runBatch(worker, variant.name, { variant: index, rows, inputs });
    return nowMs() - startMs;
  }
}
