/** Capacity by simulation: searches and tables in lockstep over worker processes. */
import {
  type Bundle,
  type Level,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { beatMsOf } from "stratagem-runtime/internal/core/beat";
import { pacePromisesOf } from "stratagem-runtime/internal/describe/pace-promises";
import type { CompilerMethod } from "../methods/method.ts";
import { type LevelPoolOptions, LevelWorkers } from "../processes/level-pool.ts";
import type { LoadRun, SimulatedLoad } from "../processes/level-request.ts";
import { rateOf } from "./evidence.ts";
import { type Capacity, searchCapacity } from "./search.ts";

export interface SimulatedLimits {
  /** Latency above which an answer is late; null for the SLO of the bundle. */
  readonly sloMs: number | null;
  /** Ceiling on violations; null for that of the bundle. */
  readonly limit: number | null;
  readonly confidence: number;
  readonly serviceTimes: LoadRun["serviceTimes"];
}

/** Capacity with one number of workers. */
export interface SizedCapacity {
  readonly workers: number;
  readonly capacity: Capacity;
  /** Empty if the work was interrupted. */
  readonly loads: readonly LoadRow[];
}

/** Simulated figures of one load. */
export interface LoadRow {
  readonly loadQps: number;
  /** Workers that are there, or the mean of those in use if plans follow the load. */
  readonly workers: number;
  /** Over all requests, a late one counting 0; null if the method does not state it. */
  readonly accuracy: number | null;
  /** Over answers in time. */
  readonly accuracyInTime: number | null;
  readonly violationRate: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Highest pace that keeps the ceiling; null if the machine as profiled does not. */
  readonly headroom: number | null;
}

/** How much load is lost for more accuracy than there is at the capacity. */
export interface AccuracyCost {
  /** Accuracy in addition, 0..1. */
  readonly accuracy: number;
  /** Share of the capacity, 0..1. */
  readonly capacityShare: number;
}

/** Ratio of the estimate to the loads that are proven. */
const STEP = 1.05;
const TRIALS = [1, 4] as const;
/** Simulations with seeds of their own that a trial consists of. */
const PARTS = 4;
const BRIEF_PARTS = 2;
/** Spans of a simulation in which requests are counted, and their least length. */
const WINDOWS = 8;
const WINDOW_BEATS = 2;
const WINDOW_QUERIES = 1000;
/** Beats until the load and the pace of the workers are known. */
const SETTLING_BEATS = 3;
const MOST_PACE = 4;
/** Headrooms are multiples of one tenth. */
const PACE_STEPS = 10;
/** Parts of the workers for which the capacity is stated. */
const WORKER_SHARES = [1, 0.75, 0.5, 0.25];
/** Accuracy whose cost is stated, and the least that is worth a statement. */
const POINT = 0.01;
const LEAST_ACCURACY = 0.001;
const MIDDLE_DIGITS = 3;
/** The search is for loads below the first of them. */
const MOST_MISSED = 4;
const HALVINGS = 6;

/**
 * Returns numbers of missing workers, 0 first.
 * @param scales whether plans follow the load, so that each load has its own number of workers.
 */
export function missingWorkers(bundle: Bundle, scales: boolean): number[] {
  const all = bundle.cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
  if (scales) return [0];
  return [...new Set(WORKER_SHARES.map((share) => all - Math.ceil(share * all)))];
}

interface Simulated {
  /** In the order of the numbers of missing workers. */
  readonly sizes: readonly SizedCapacity[];
  readonly accuracyCost: AccuracyCost | null;
}

/**
 * Returns the capacities of a bundle; the same for any number of jobs.
 * @param missing numbers of missing workers. @param rowLoads loads of the table.
 */
export async function simulatedCapacities(
  bundle: Bundle,
  method: CompilerMethod,
  limits: SimulatedLimits,
  { missing, rowLoads }: { readonly missing: readonly number[]; readonly rowLoads: number[] },
  pool: LevelPoolOptions,
): Promise<Simulated> {
  const processes = new LevelWorkers(method.frameOf(bundle), pool);
  const run = <T>(jobs: readonly Job<T>[], stage: string): Promise<T[]> =>
    inLockstep(
      jobs,
      async (runs) => {
        const requests = runs.map((one) => ({ kind: "simulate", bundle, run: one }) as const);
        const replies = await processes.run(requests, stage);
        return replies.flatMap((reply) => (reply.kind === "simulated" ? [reply.load] : []));
      },
      pool.signal,
    );
  try {
    const machines = missing.map((lost) => new Machine(bundle, method, limits, lost));
    const rowsOf = async (
      loads: readonly number[],
      hasHeadroom = true,
    ): Promise<(readonly LoadRow[])[]> => {
      const cells = machines.flatMap((machine) => {
        return loads.map((loadQps) => machine.row(loadQps, hasHeadroom));
      });
      const rows = await run(cells, "table");
      return machines.map((_, at) => {
        return rows.slice(at * loads.length, (at + 1) * loads.length).flatMap((row) => row ?? []);
      });
    };
    const stated = await rowsOf(rowLoads);
    const missed = missedLoads(bundle, method, limits.limit ?? violationCeiling(bundle.slo));
    const between = await rowsOf([...middlesOf(rowLoads), ...missed], false);
    const rows = machines.map((machine, at) => {
      const failing = (between[at] ?? []).filter((row) => machine.fails(row));
      return [...(stated[at] ?? []), ...failing].toSorted((a, b) => a.loadQps - b.loadQps);
    });
    const searches = machines.map((machine, at) => machine.search(rows[at] ?? []));
    const found = await run(searches, "capacity");
    const holdsQps = found[0]?.holdsQps ?? null;
    const top = await rowsOf(holdsQps === null ? [] : [holdsQps]);
    const sizes = machines.map(({ workers }, at) => ({
      workers,
      capacity: found[at] ?? NOTHING,
      loads: [...(rows[at] ?? []), ...(top[at] ?? [])],
    }));
    const cost = machines.slice(0, 1).map((machine) => machine.costOf(sizes[0]?.loads ?? []));
    const [accuracyCost = null] = await run(cost, "accuracy");
    return { sizes, accuracyCost };
  } finally {
    await processes.close();
  }
}

/** Returns loads between these: there plans of one level give way to those of the next. */
function middlesOf(loads: readonly number[]): number[] {
  return loads.slice(1).map((high, at) => {
    return Number(Math.sqrt((loads[at] ?? high) * high).toPrecision(MIDDLE_DIGITS));
  });
}

/** Returns loads whose own levels state that they miss the ceiling. */
function missedLoads(bundle: Bundle, method: CompilerMethod, limit: number): number[] {
  const levels: readonly Level[] = bundle.levels;
  const promised = levels.map((level) => method.promises(bundle, level));
  const missing = promised.filter(({ feasible, figures: { violations = 0 } }) => {
    return !feasible || (violations ?? 0) > limit;
  });
  return missing.slice(0, MOST_MISSED).map(({ loadQps }) => loadQps);
}

const FIRST = { loadQps: 1 };
const NOTHING: Capacity = {
  ...{ holdsQps: null, failsQps: null, estimateQps: null, generatorQps: null },
  ...{ queries: 0, tried: [] },
};

/** Yields simulations that can run at the same time; null ends it with what is known. */
type Job<T> = Generator<readonly LoadRun[], T, readonly SimulatedLoad[] | null>;

/** Runs jobs side by side: what one yields depends on its own simulations alone. */
async function inLockstep<T>(
  jobs: readonly Job<T>[],
  simulate: (runs: readonly LoadRun[]) => Promise<readonly SimulatedLoad[]>,
  signal: AbortSignal,
): Promise<T[]> {
  const results: T[] = [];
  let steps = jobs.map((job, at) => ({ job, at, step: job.next() }));
  for (;;) {
    for (const { at, step } of steps) if (step.done) results[at] = step.value;
    steps = steps.filter(({ step }) => step.done !== true);
    if (steps.length === 0) return results;
    const asked = steps.map(({ step }) => (step.done ? [] : step.value));
    const loads = signal.aborted ? null : await simulate(asked.flat()).catch(nullIf(signal));
    let first = 0;
    steps = steps.map(({ job, at }, index) => {
      const count = asked[index]?.length ?? 0;
      const own = loads?.slice(first, first + count) ?? null;
      first += count;
      return { job, at, step: job.next(own) };
    });
  }
}

function nullIf(signal: AbortSignal): (error: unknown) => null {
  return (error) => {
    if (signal.aborted) return null;
    throw error;
  };
}

/** Simulations of a bundle whose cluster has lost some workers. */
class Machine {
  readonly workers: number;
  readonly #bundle: Bundle;
  readonly #levels: readonly Level[];
  readonly #method: CompilerMethod;
  readonly #limits: SimulatedLimits;
  readonly #limit: number;
  readonly #lost: number;
  #seed = 1;

  constructor(bundle: Bundle, method: CompilerMethod, limits: SimulatedLimits, lost: number) {
    const all = bundle.cluster.pools.reduce((sum, { workers }) => sum + workers, 0);
    this.workers = all - lost;
    this.#bundle = bundle;
    this.#levels = bundle.levels;
    this.#method = method;
    this.#limits = limits;
    this.#limit = limits.limit ?? violationCeiling(bundle.slo);
    this.#lost = lost;
  }

  /** Searches below the first load that fails: plans for higher ones may hold again. */
  *search(rows: readonly LoadRow[]): Job<Capacity> {
    const limit = this.#limit;
    // No load is answered in time where the lowest is not.
    if (rows[0]?.violationRate === 1) return NOTHING;
    const failing = rows.findIndex((row) => this.fails(row));
    const startQps = (rows.at(failing < 0 ? -1 : Math.max(0, failing - 1)) ?? FIRST).loadQps;
    const belowQps = rows[failing]?.loadQps ?? Number.POSITIVE_INFINITY;
    const { confidence } = this.#limits;
    const asked = { startQps, belowQps, limit, confidence, step: STEP, trials: TRIALS };
    const search = searchCapacity(asked);
    let step = search.next();
    while (!step.done) {
      const { loadQps, isBrief } = step.value;
      const loads = yield this.#runs(loadQps, isBrief ? BRIEF_PARTS : PARTS);
      step = search.next(loads?.flatMap(({ windows }) => windows) ?? null);
    }
    return step.value;
  }

  fails({ violationRate }: LoadRow): boolean {
    return violationRate > this.#limit;
  }

  /** @param hasHeadroom false where it is not searched for. */
  *row(loadQps: number, hasHeadroom: boolean): Job<LoadRow | null> {
    const loads = yield this.#runs(loadQps, BRIEF_PARTS);
    if (loads === null) return null;
    const violationRate = rateOf(
      loads.flatMap(({ windows }) => windows),
      "late",
    );
    const accuracy = meanOf(loads.map((load) => load.accuracy));
    const servers = this.#method.scales ? meanOf(loads.map((load) => load.servers)) : null;
    return {
      loadQps,
      workers: servers ?? this.workers,
      accuracy: accuracy === null ? null : accuracy * (1 - violationRate),
      accuracyInTime: accuracy,
      violationRate,
      p50Ms: meanOf(loads.map(({ p50Ms }) => p50Ms)),
      p99Ms: meanOf(loads.map(({ p99Ms }) => p99Ms)),
      headroom: violationRate <= this.#limit && hasHeadroom ? yield* this.#headroom(loadQps) : null,
    };
  }

  /** Searches the load at which accuracy is a point higher than at that of the last row. */
  *costOf(rows: readonly LoadRow[]): Job<AccuracyCost | null> {
    const { accuracyInTime: own = null, loadQps: topQps } = rows.at(-1) ?? {};
    const best = rows.reduce((most, row) => Math.max(most, row.accuracyInTime ?? 0), 0);
    if (own === null || topQps === undefined) return null;
    // Half of what there is, if that is less than a point.
    const accuracy = Math.min(POINT, (best - own) / 2);
    if (accuracy < LEAST_ACCURACY) return null;
    const wanted = own + accuracy;
    const below = rows.filter((row) => {
      return row.loadQps < topQps && (row.accuracyInTime ?? 0) >= wanted;
    });
    let low = Math.max(0, ...below.map(({ loadQps }) => loadQps));
    let high = topQps;
    for (let halving = 0; halving < HALVINGS && low > 0; halving++) {
      const middle = Math.sqrt(low * high);
      const loads = yield this.#runs(middle, BRIEF_PARTS);
      if (loads === null) return null;
      const found = meanOf(loads.map((load) => load.accuracy)) ?? 0;
      if (found >= wanted) low = middle;
      else high = middle;
    }
    return low === 0 ? null : { accuracy, capacityShare: 1 - low / topQps };
  }

  *#headroom(loadQps: number): Job<number | null> {
    const level = this.#levels.find((one) => one.loadQps === loadQps);
    const isStated = this.#lost === 0 && this.#limits.sloMs === null && this.#limits.limit === null;
    const stated = level && isStated ? pacePromisesOf(level).headroom : undefined;
    if (stated !== undefined && stated > 0) return stated;
    let low = PACE_STEPS;
    let high = MOST_PACE * PACE_STEPS + 1;
    for (let pace = high - 1; high - low > 1; pace = Math.floor((low + high) / 2)) {
      const loads = yield this.#runs(loadQps, 1, pace / PACE_STEPS);
      if (loads === null) return null;
      const isKept = rateOf(loads[0]?.windows ?? [], "late") <= this.#limit;
      if (isKept) low = pace;
      else high = pace;
    }
    return low / PACE_STEPS;
  }

  #runs(loadQps: number, parts: number, pace = 1): LoadRun[] {
    const beatMs = beatMsOf(this.#bundle.slo);
    const windowMs = Math.max(WINDOW_BEATS * beatMs, (1000 * WINDOW_QUERIES) / loadQps);
    const { serviceTimes, sloMs } = this.#limits;
    return Array.from({ length: parts }, () => ({
      ...{ loadQps, fromMs: SETTLING_BEATS * beatMs, windowCount: WINDOWS, windowMs },
      ...{ seed: this.#seed++, serviceTimes, sloMs, pace, lost: this.#lost },
    }));
  }
}

/** Null if one is unknown. */
function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  if (known.length < values.length || known.length === 0) return null;
  return known.reduce((sum, value) => sum + value, 0) / known.length;
}
