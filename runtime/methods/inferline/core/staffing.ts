/** Computes the replicas of a plan at another load than its own. */
import type { InferlineBundle, InferlineLevel, StagePlan } from "../../../bundle/schema.ts";
import { priceMicros } from "../../../bundle/schema.ts";

/** A product that exceeds a whole number by this part of it is that number. */
const ROUNDING = 1e-9;

/**
 * Replicas at a ratio of the planned load, not rounded: the busy part grows in proportion to the
 * load, the reserve for chance with its square root. At 1 they are those of the plan.
 */
export function replicasAt({ replicas, provisioningRatio }: StagePlan, ratio: number): number {
  const busy = Math.min(provisioningRatio, 1);
  return replicas * (busy * ratio + (1 - busy) * Math.sqrt(ratio));
}

/** Returns the ratio up to which so many replicas are enough: the inverse of `replicasAt`. */
export function ratioFor({ replicas, provisioningRatio }: StagePlan, count: number): number {
  const busy = Math.min(provisioningRatio, 1);
  const part = count / replicas;
  if (busy === 0) return part * part;
  const half = (1 - busy) / (2 * busy);
  const root = Math.sqrt(part / busy + half * half) - half;
  return root * root;
}

/** Replicas and cost of a level at another load. */
interface Staff {
  /** [taskCount], at least 1. */
  readonly replicas: Uint32Array;
  /** Cost of all replicas, millionths per hour. */
  micros: number;
  /** Replicas that its pools lack. */
  lacking: number;
}

/** Plans of a bundle at loads other than their own. */
export class Staffing {
  readonly #levels: readonly InferlineLevel[];
  readonly #workers: Float64Array;
  readonly #micros: Float64Array;
  readonly #used: Float64Array;

  constructor({ levels, cluster }: InferlineBundle) {
    this.#levels = levels;
    this.#workers = Float64Array.from(cluster.pools, ({ workers }) => workers);
    this.#micros = Float64Array.from(cluster.pools, priceMicros);
    this.#used = new Float64Array(cluster.pools.length);
  }

  /** Workers of the pool that a task has in the plan of a level, at least 1. */
  mostOf(level: number, task: number): number {
    const { pool, replicas } = this.#levels[level]!.plan.stages[task]!;
    return Math.max(this.#workers[pool]!, replicas, 1);
  }

  /**
   * @param factors [taskCount]: times the queries of a request that the plan counts with.
   * @param staff set here.
   */
  at(level: number, ratio: number, factors: Float64Array, staff: Staff): void {
    const { stages } = this.#levels[level]!.plan;
    const used = this.#used.fill(0);
    staff.micros = 0;
    staff.lacking = 0;
    for (let task = 0; task < stages.length; task++) {
      const stage = stages[task]!;
      const wanted = wholeOf(replicasAt(stage, ratio * factors[task]!));
      used[stage.pool]! += wanted;
      staff.micros += wanted * this.#micros[stage.pool]!;
      staff.replicas[task] = Math.min(wanted, this.mostOf(level, task));
    }
    for (let pool = 0; pool < used.length; pool++) {
      staff.lacking += Math.max(0, used[pool]! - this.#workers[pool]!);
    }
  }

  /**
   * Returns the ratio of a level's load beyond which some task needs more than it has, among those
   * that can have more.
   */
  enoughFor(level: number, factors: Float64Array, targets: Uint32Array): number {
    const { stages } = this.#levels[level]!.plan;
    let least = Number.POSITIVE_INFINITY;
    for (let task = 0; task < stages.length; task++) {
      if (targets[task]! >= this.mostOf(level, task)) continue;
      const own = ratioFor(stages[task]!, targets[task]!) / factors[task]!;
      if (own < least) least = own;
    }
    return least;
  }
}

/** Rounded up, at least 1. */
export function wholeOf(replicas: number): number {
  // A task that no request reaches gives 0 / 0.
  if (!(replicas > 1)) return 1;
  return Math.ceil(replicas * (1 - ROUNDING));
}
