/** Decides when running variants must give way to others, and which of them may serve on. */
import { type ThemisShape, TRANSITION_CELLS } from "./shape.ts";

/** Throughputs are computed from the same table as the plans', in another order. */
const ROUNDING = 1e-9;

/**
 * Compares plans of different loads with different variants: cores and instances of one may not
 * carry what the other does, and both may not fit side by side.
 */
export class VariantSwap {
  readonly #shape: ThemisShape;
  /** [variantCount], each ascending: cores that instances have in some plan or burst. */
  readonly #knownCores: readonly (readonly number[])[];

  constructor(shape: ThemisShape) {
    this.#shape = shape;
    this.#knownCores = knownCoresOf(shape);
  }

  /** The lowest level whose plan has the variants of another's. */
  lowestLike(level: number): number {
    let lowest = 0;
    while (!this.#isLike(lowest, level)) lowest++;
    return lowest;
  }

  /** Whether a level has other variants than a row, which does not carry its load in any way. */
  isDue(row: number, level: number): boolean {
    if (this.#isLike(row, level)) return false;
    const { taskCount, variantCount, levelCount, variantByLevelTask, scaleByTask } = this.#shape;
    const { transitions, replicasByLevelVariant, loadQpsByLevel, latencyMsByVariant } = this.#shape;
    const { maxBatchByTaskPool: maxBatchByVariant } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      const variant = variantByLevelTask[row * taskCount + task]!;
      const cell = ((row * levelCount + level) * variantCount + variant) * TRANSITION_CELLS;
      const batch = transitions[cell]!;
      const first = (transitions[cell + 1]! - 1) * maxBatchByVariant[variant]!;
      const instances =
        replicasByLevelVariant[row * variantCount + variant]! + transitions[cell + 2]!;
      const batchMs = latencyMsByVariant[variant]![first + batch - 1]!;
      const neededQps = loadQpsByLevel[level]! * scaleByTask[task]!;
      if ((1000 * batch * instances) / batchMs < neededQps * (1 - ROUNDING)) return true;
    }
    return false;
  }

  /**
   * Reduces the variants that a level does not have to what fits beside its plan: fewer instances
   * first, then fewer cores of the last. Those with the most cores give most.
   * @param instances by variant, and cores of each: changed in place.
   */
  shrink(level: number, instances: Uint32Array, cores: Uint32Array): void {
    while (!this.#fits(level, instances, cores)) {
      const variant = this.#largest(level, instances, cores);
      if (variant < 0) return;
      if (instances[variant]! > 1) {
        instances[variant]!--;
        continue;
      }
      const own = cores[variant]!;
      const fewer = this.#knownCores[variant]!.filter((known) => known < own).at(-1) ?? 0;
      cores[variant] = fewer;
      if (fewer === 0) instances[variant] = 0;
    }
  }

  #isLike(one: number, other: number): boolean {
    const { taskCount, variantByLevelTask } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      const variant = variantByLevelTask[one * taskCount + task];
      if (variant !== variantByLevelTask[other * taskCount + task]) return false;
    }
    return true;
  }

  #fits(level: number, instances: Uint32Array, cores: Uint32Array): boolean {
    const { variantCount, replicasByLevelVariant, coresByLevelVariant } = this.#shape;
    const { machines, poolByVariant } = this.#shape;
    machines.clear();
    for (let variant = 0; variant < variantCount; variant++) {
      const at = level * variantCount + variant;
      const pool = poolByVariant[variant]!;
      if (replicasByLevelVariant[at]! > 0) {
        machines.add(pool, replicasByLevelVariant[at]!, coresByLevelVariant[at]!);
      } else machines.add(pool, instances[variant]!, cores[variant]!);
    }
    return machines.fits();
  }

  /**
   * Returns the variant that a level does not have with the most cores of all its instances, or −1.
   */
  #largest(level: number, instances: Uint32Array, cores: Uint32Array): number {
    const { variantCount, replicasByLevelVariant } = this.#shape;
    let largest = -1;
    let most = 0;
    for (let variant = 0; variant < variantCount; variant++) {
      if (replicasByLevelVariant[level * variantCount + variant]! > 0) continue;
      const held = instances[variant]! * cores[variant]!;
      if (held <= most) continue;
      most = held;
      largest = variant;
    }
    return largest;
  }
}

function knownCoresOf({ variantCount, coresByLevelVariant, transitions }: ThemisShape): number[][] {
  const known = Array.from({ length: variantCount }, () => new Set<number>());
  for (const [at, cores] of coresByLevelVariant.entries()) known[at % variantCount]!.add(cores);
  for (let at = 0; at < transitions.length; at += TRANSITION_CELLS) {
    known[(at / TRANSITION_CELLS) % variantCount]!.add(transitions[at + 1]!);
  }
  return known.map((cores) => [...cores].filter((count) => count > 0).sort((a, b) => a - b));
}
