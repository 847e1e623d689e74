/** Chooses the plan for the observed load and its number of workers. */
import type { Bundle } from "../bundle/schema.ts";
import { LevelChoice } from "../core/level-choice.ts";
import type { MeasuredLoad } from "../core/load-monitor.ts";
import type { PlannedWorkers } from "../describe/planned-workers.ts";
import { methodOf } from "../methods/registry.ts";

/**
 * Time for which a required level is kept: replacing stopped pods would take longer than a short
 * dip of the load.
 */
const HOLD_MS = 60_000;

/** Part of a plan's workers, by task and pool; omitted for all. */
export interface WantedPart {
  readonly task?: string | undefined;
  readonly pool?: string | undefined;
}

/** Deterministic: times are arguments and must not go back. */
export class PlanFollower {
  readonly #choice: LevelChoice;
  readonly #plans: readonly (readonly PlannedWorkers[])[];
  /** [levelCount]: time at which each level was last required. */
  readonly #wantedMs: Float64Array;
  readonly #holdMs: number;
  #level = 0;
  #nowMs = Number.NEGATIVE_INFINITY;

  constructor(bundle: Bundle, holdMs = HOLD_MS) {
    const levels: readonly { readonly loadQps: number }[] = bundle.levels;
    this.#choice = new LevelChoice(Float64Array.from(levels, ({ loadQps }) => loadQps));
    this.#plans = plansOf(bundle);
    this.#wantedMs = new Float64Array(bundle.levels.length).fill(Number.NEGATIVE_INFINITY);
    this.#holdMs = holdMs;
  }

  /** Index of the level that the load requires now. */
  get level(): number {
    return this.#level;
  }

  /** @param pace of the workers: pace 2 requires twice as many workers for a load. */
  follow(load: MeasuredLoad, nowMs: number, pace = 1): void {
    this.#level = this.#choice.update(load, nowMs, Math.max(1, pace));
    this.#wantedMs[this.#level] = nowMs;
    this.#nowMs = nowMs;
  }

  /** Number of workers: the maximum over the levels required recently. */
  wanted(part: WantedPart): number {
    const recent = this.#plans.filter((_, level) => {
      return this.#nowMs - (this.#wantedMs[level] ?? Number.NaN) <= this.#holdMs;
    });
    return Math.max(0, ...recent.map((plan) => wantedOf(plan, part)));
  }

  /** Whether any plan has workers in this part. */
  knows(part: WantedPart): boolean {
    return this.#plans.some((plan) => plan.some((one) => isPart(one, part)));
  }

  /** Tasks and pools that have workers in any plan. */
  get parts(): { readonly tasks: readonly string[]; readonly pools: readonly string[] } {
    const all = this.#plans.flat();
    return {
      tasks: [...new Set(all.map(({ task }) => task))],
      pools: [...new Set(all.map(({ pool }) => pool))],
    };
  }
}

/** A method whose plans do not differ uses all workers at every level. */
function plansOf(bundle: Bundle): readonly (readonly PlannedWorkers[])[] {
  const method = methodOf(bundle);
  const task = bundle.tasks[0]?.name ?? "";
  const all = bundle.cluster.pools.map(({ name: pool, workers }) => ({ task, pool, workers }));
  return bundle.levels.map((_, level) => method.plannedWorkers?.(bundle, level) ?? all);
}

function wantedOf(plan: readonly PlannedWorkers[], part: WantedPart): number {
  const own = plan.filter((one) => isPart(one, part));
  return own.reduce((total, { workers }) => total + workers, 0);
}

function isPart(one: PlannedWorkers, { task = one.task, pool = one.pool }: WantedPart): boolean {
  return one.task === task && one.pool === pool;
}
