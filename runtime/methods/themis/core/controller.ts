/** Decides the number of instances and their cores. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { levelForLoad } from "../../../core/level-choice.ts";
import { NO_WISH, type ThemisDemand } from "./demand.ts";
import { type ThemisShape, TRANSITION_CELLS } from "./shape.ts";
import { VariantSwap } from "./variant-swap.ts";

/** State of the fleet that the controller sees. Arrays are by variant of all tasks. */
export interface ThemisFleet {
  /** Instances that are up and stay. */
  readonly readyByVariant: Uint32Array;
  /** Least cores that one of those has in force; 0 without any. */
  readonly coresInForceByVariant: Uint32Array;
}

/** Decides the targets of the fleet. Arrays are by variant of all tasks. */
export interface FleetController {
  /** Target instances, cores of each, cores of a new one, and batches. */
  readonly instances: Uint32Array;
  readonly cores: Uint32Array;
  readonly startCores: Uint32Array;
  readonly batch: Uint32Array;
  readonly level: number;
  readonly goal: number;
  readonly resizes: number;
  readonly raises: number;
  readonly burstCount: number;
  readonly settledCount: number;
  /**
   * Looks at the traffic.
   * @param pace of the instances, relative to the profile.
   * @returns whether something is to change.
   */
  tick(nowMs: number, backlog: number, fleet: ThemisFleet, pace?: number): boolean;
  /** Called when an instance has come up or has other cores. @returns whether something changes. */
  review(fleet: ThemisFleet): boolean;
  /** An instance that was up is lost. */
  lose(fleet: ThemisFleet): void;
}

/** In place of a level: no plan is being moved to. */
const NO_GOAL = -1;

/**
 * Sets the targets: how many instances each variant of a task has, of how many cores, and in what
 * batches. All of it is looked up. A plan has one variant of each task; another plan may have
 * another, and then the instances of both serve until those of the new one are up.
 *
 * The plan of the level `base` is in force, or was before the traffic grew. When it grows beyond
 * what is carried, the row of `transitions` for the instances that are up gives at once how many
 * cores each of them gets, all of a task the same and never fewer than now, and how many instances
 * are added if that is not enough. The plan for the load follows when the demand calls for it: what
 * it has more is started first, and only when that is up and has its cores is anything taken away.
 * No instance is started that would take more cores than the pool has, or that does not fit on its
 * machines: where a plan does not fit beside what runs, one on the way to it comes first; and where
 * the load is more than the running variants carry in any way, they give way. When an instance is
 * lost, the others get the cores of the row that is left until it is back. Source: Themis §5, fig.
 * 4; losses, full pools and variants are ours.
 */
export class ThemisController implements FleetController {
  /**
   * Targets, [variantCount] each: instances, cores of each, cores that a new one starts with, and
   * largest batches.
   */
  readonly instances: Uint32Array;
  readonly cores: Uint32Array;
  readonly startCores: Uint32Array;
  readonly batch: Uint32Array;
  /** Level whose load is carried, or will be once extra instances are up. */
  level: number;
  /** Number of times that `cores` was set for all instances, whatever cores they started with. */
  resizes = 0;
  /** How often `startCores` has been raised, so that instances may have fewer. */
  raises = 0;
  /** Bursts that were met with cores, and plans that were settled on. */
  burstCount = 0;
  settledCount = 0;
  readonly #shape: ThemisShape;
  readonly #demand: ThemisDemand | null;
  readonly #extraCores: "same" | "one";
  readonly #isHorizontal: boolean;
  /** [variantCount]: cores that the instances are to have together, at most. */
  readonly #held: Uint32Array;
  readonly #swap: VariantSwap;
  #base: number;
  #goal = NO_GOAL;
  /** Level whose instances must be up for `cores` to be enough. */
  #row: number;
  /** Whether running instances have given way to the goal, which is coming up. */
  #hasGivenWay = false;

  /** @param level whose plan is in force at the start. @param demand null to keep it. */
  constructor(
    { policy }: Pick<ThemisBundle, "policy">,
    shape: ThemisShape,
    demand: ThemisDemand | null,
    level: number,
  ) {
    const { variantCount } = shape;
    this.#shape = shape;
    this.#demand = demand;
    this.#extraCores = policy.extraCores;
    this.#isHorizontal = policy.scaling === "horizontal";
    this.instances = new Uint32Array(variantCount);
    this.cores = new Uint32Array(variantCount);
    this.startCores = new Uint32Array(variantCount);
    this.batch = new Uint32Array(variantCount);
    this.#held = new Uint32Array(variantCount);
    this.#swap = new VariantSwap(shape);
    this.#base = level;
    this.#row = level;
    this.level = level;
    this.#adopt(level);
  }

  /** Level of the plan that is being moved to, otherwise that in force. */
  get goal(): number {
    return this.#goal === NO_GOAL ? this.#base : this.#goal;
  }

  /**
   * Looks at the traffic.
   * @param backlog requests that wait.
   * @param pace of the instances, relative to the profile.
   * @returns whether something is to change.
   */
  tick(nowMs: number, backlog: number, fleet: ThemisFleet, pace = 1): boolean {
    if (this.#demand === null) return false;
    this.#demand.look(nowMs, backlog, this.level, this.#base, pace);
    const { needed, wanted } = this.#demand;
    const isBurst = needed > this.level && !this.#isHorizontal && !this.#hasGivenWay;
    if (isBurst) {
      this.burstCount++;
      this.level = needed;
      // If cores are short, surplus ones go first, and instances follow with a later look.
      if (this.#stretch(needed, fleet)) return true;
    }
    const isSettled = wanted !== NO_WISH && this.#aimFor(wanted, fleet);
    return this.review(fleet) || isBurst || isSettled;
  }

  /** Called when an instance has come up or has other cores. @returns whether something changes. */
  review(fleet: ThemisFleet): boolean {
    if (this.#goal === NO_GOAL) return false;
    if (!this.#isThere(this.#goal, fleet)) return this.#approach(this.#goal);
    this.#settle(this.#goal, fleet);
    return true;
  }

  /**
   * Moves to the plan of a level, or to one on the way to it if it does not fit beside what runs.
   * @returns whether the plan to settle on changes at once.
   */
  #aimFor(wanted: number, fleet: ThemisFleet): boolean {
    const base = this.#base;
    if (this.#hasGivenWay) {
      this.#raiseGoal(wanted);
      return false;
    }
    let level = wanted;
    while (level !== base && !this.#fits(level)) level += level < base ? 1 : -1;
    if (level === base && wanted > base) {
      // Cores that the load takes are given up for room only if they are not enough.
      if (!this.#swap.isDue(this.#row, wanted)) return false;
      this.#giveWay(wanted);
      return true;
    }
    if (level === base && !this.#fits(base) && !this.#isThere(base, fleet)) {
      // Instances that it no longer takes leave no room for those that the base has lost: they go
      // first.
      level = this.#rowFor(this.level, fleet.readyByVariant);
      if (this.#isUp(level, fleet.readyByVariant)) {
        this.#settle(level, fleet);
        return true;
      }
    }
    if (level !== this.goal || level !== this.level) this.#goal = level;
    return false;
  }

  /**
   * Instances that gave way to a plan cannot return before that is up; but a plan for more load may
   * be moved to instead, if there is room.
   */
  #raiseGoal(wanted: number): void {
    let level = wanted;
    while (level > this.#goal && !this.#fits(level)) level--;
    if (level > this.#goal) this.#goal = level;
  }

  /**
   * Called when an instance that was up is lost; it is started again. Until it is up, the others
   * get the cores of the row for them, if there is room.
   */
  lose(fleet: ThemisFleet): void {
    if (this.#demand === null || this.#isHorizontal || this.#hasGivenWay) return;
    if (this.#isUp(this.#row, fleet.readyByVariant)) return;
    const row = this.#rowFor(this.level, fleet.readyByVariant);
    if (this.#isTight(row, this.level)) return;
    this.#carry(row, this.level, false);
    if (this.#goal === NO_GOAL) this.#goal = this.#base;
  }

  /**
   * Gives the instances that are up the cores that the load takes.
   * @returns whether others had to go for it.
   */
  #stretch(level: number, { readyByVariant }: ThemisFleet): boolean {
    const row = this.#rowFor(level, readyByVariant);
    // The plan for the row always fits. Extra instances may not fit, and then cores left from an
    // earlier load are freed.
    const isTight = this.#isTight(row, level);
    this.#carry(row, level, isTight);
    if (isTight) this.#goal = NO_GOAL;
    return isTight;
  }

  /** Whether the pool has no room for the row's needs at a load beside all current instances. */
  #isTight(row: number, level: number): boolean {
    const { variantCount, levelCount, transitions, replicasByLevelVariant } = this.#shape;
    const { machines, poolByVariant } = this.#shape;
    const first = (row * levelCount + level) * variantCount * TRANSITION_CELLS;
    machines.clear();
    for (let variant = 0; variant < variantCount; variant++) {
      const cell = first + variant * TRANSITION_CELLS;
      const planned =
        replicasByLevelVariant[row * variantCount + variant]! + transitions[cell + 2]!;
      const cores = Math.max(this.cores[variant]!, transitions[cell + 1]!);
      machines.add(poolByVariant[variant]!, Math.max(this.instances[variant]!, planned), cores);
    }
    return !machines.fits();
  }

  /**
   * Adopts the row's needs at a load.
   * @param isTight whether they replace the current targets instead of adding to them.
   */
  #carry(row: number, level: number, isTight: boolean): void {
    const { variantCount, levelCount, transitions, replicasByLevelVariant } = this.#shape;
    const first = (row * levelCount + level) * variantCount * TRANSITION_CELLS;
    for (let variant = 0; variant < variantCount; variant++) {
      const cell = first + variant * TRANSITION_CELLS;
      const cores = transitions[cell + 1]!;
      const extras = transitions[cell + 2]!;
      const planned = replicasByLevelVariant[row * variantCount + variant]! + extras;
      this.batch[variant] = transitions[cell]!;
      this.cores[variant] = isTight ? cores : Math.max(this.cores[variant]!, cores);
      this.instances[variant] = isTight ? planned : Math.max(this.instances[variant]!, planned);
      // An instance that is started replaces a lost one, unless there are extras.
      const isWhole = this.#extraCores === "same" || extras === 0;
      this.startCores[variant] = isWhole ? this.cores[variant]! : 1;
      this.#held[variant] = this.instances[variant]! * this.cores[variant]!;
    }
    this.resizes++;
    this.#row = row;
  }

  /**
   * Returns the highest level up to one whose instances are all up; otherwise the lowest of those
   * that have the variants in force. Plans above may have more cores with no more instances.
   */
  #rowFor(level: number, readyByVariant: Uint32Array): number {
    let row = level;
    while (row >= 0 && !this.#isUp(row, readyByVariant)) row--;
    return row >= 0 ? row : this.#swap.lowestLike(this.#row);
  }

  /** Whether as many instances are up as a plan has. */
  #isUp(level: number, readyByVariant: Uint32Array): boolean {
    const { variantCount, replicasByLevelVariant } = this.#shape;
    for (let variant = 0; variant < variantCount; variant++) {
      if (readyByVariant[variant]! < replicasByLevelVariant[level * variantCount + variant]!)
        return false;
    }
    return true;
  }

  /** Whether the instances of a plan are up with at least the cores that it gives them. */
  #isThere(level: number, { readyByVariant, coresInForceByVariant }: ThemisFleet): boolean {
    if (!this.#isUp(level, readyByVariant)) return false;
    const { variantCount, coresByLevelVariant } = this.#shape;
    for (let variant = 0; variant < variantCount; variant++) {
      if (coresInForceByVariant[variant]! < coresByLevelVariant[level * variantCount + variant]!)
        return false;
    }
    return true;
  }

  /**
   * Starts what a plan has more, beside all current instances. @returns whether targets have grown.
   */
  #approach(level: number): boolean {
    // Taking cores from serving instances to start others would lose the load that they carry.
    if (!this.#fits(level)) return false;
    const { variantCount, replicasByLevelVariant, coresByLevelVariant, batchByLevelVariant } =
      this.#shape;
    let isChanged = false;
    let isRaised = false;
    for (let variant = 0; variant < variantCount; variant++) {
      const at = level * variantCount + variant;
      const cores = coresByLevelVariant[at]!;
      if (replicasByLevelVariant[at] === 0) continue;
      if (this.instances[variant] === 0) this.batch[variant] = batchByLevelVariant[at]!;
      // No instance has fewer cores than `startCores`, but some may have no more: those that were
      // started for another plan, or with one core.
      this.#held[variant] = this.#heldWith(cores, variant);
      if (cores > this.startCores[variant]!) {
        this.cores[variant] = Math.max(this.cores[variant]!, cores);
        this.startCores[variant] = cores;
        isRaised = true;
      }
      if (replicasByLevelVariant[at]! > this.instances[variant]!) {
        this.#held[variant]! += (replicasByLevelVariant[at]! - this.instances[variant]!) * cores;
        this.instances[variant] = replicasByLevelVariant[at]!;
        this.startCores[variant] = cores;
        isChanged = true;
      }
    }
    if (isRaised) this.raises++;
    return isChanged || isRaised;
  }

  /** Whether the pool has room for what a plan has more, beside all current instances. */
  #fits(level: number): boolean {
    const { variantCount, replicasByLevelVariant, coresByLevelVariant, machines } = this.#shape;
    const { poolByVariant } = this.#shape;
    machines.clear();
    for (let variant = 0; variant < variantCount; variant++) {
      const at = level * variantCount + variant;
      const cores = coresByLevelVariant[at]!;
      const missing = Math.max(0, replicasByLevelVariant[at]! - this.instances[variant]!);
      machines.add(poolByVariant[variant]!, missing, cores);
      this.#addHeld(cores, variant);
    }
    return machines.fits();
  }

  /**
   * Adds the instances of a variant to the machines, none with fewer cores than given. Some may
   * have more, as far as the total of their cores allows, and one a part of that.
   */
  #addHeld(cores: number, variant: number): void {
    const { machines, poolByVariant } = this.#shape;
    const pool = poolByVariant[variant]!;
    const instances = this.instances[variant]!;
    if (instances === 0) return;
    const least = Math.max(this.startCores[variant]!, cores);
    const more = Math.max(this.cores[variant]!, cores) - least;
    const rest = this.#heldWith(cores, variant) - instances * least;
    const whole = more > 0 ? Math.floor(rest / more) : 0;
    const part = rest - whole * more;
    machines.add(pool, whole, least + more);
    machines.add(pool, part > 0 ? 1 : 0, least + part);
    machines.add(pool, instances - whole - (part > 0 ? 1 : 0), least);
  }

  /** Returns the cores that the instances of a variant hold once each has at least so many. */
  #heldWith(cores: number, variant: number): number {
    const instances = this.instances[variant]!;
    const raised = instances * Math.max(0, cores - this.startCores[variant]!);
    return Math.min(
      this.#held[variant]! + raised,
      instances * Math.max(this.cores[variant]!, cores),
    );
  }

  /**
   * Running variants cannot carry the load, and the plan that can has no room beside all of them:
   * as many as fit serve on until that is up.
   */
  #giveWay(level: number): void {
    const { variantCount, replicasByLevelVariant, coresByLevelVariant, batchByLevelVariant } =
      this.#shape;
    this.#swap.shrink(level, this.instances, this.cores);
    for (let variant = 0; variant < variantCount; variant++) {
      const at = level * variantCount + variant;
      if (replicasByLevelVariant[at]! > 0) {
        this.instances[variant] = replicasByLevelVariant[at]!;
        this.cores[variant] = coresByLevelVariant[at]!;
        this.batch[variant] = batchByLevelVariant[at]!;
      }
      this.startCores[variant] = this.cores[variant]!;
      this.#held[variant] = this.instances[variant]! * this.cores[variant]!;
    }
    this.resizes++;
    this.level = level;
    this.#goal = level;
    this.#hasGivenWay = true;
  }

  /** Settles on a plan once it is up: the surplus goes. */
  #settle(level: number, fleet: ThemisFleet): void {
    this.#hasGivenWay = false;
    this.#goal = NO_GOAL;
    this.#base = level;
    this.settledCount++;
    this.#adopt(level);
    // A burst that came since is still carried, by the current instances.
    const carried = this.level;
    this.level = level;
    const needed = Math.min(carried, this.#demand?.needed ?? level);
    if (needed <= level || this.#isHorizontal) return;
    this.level = needed;
    this.#stretch(needed, fleet);
  }

  #adopt(level: number): void {
    this.resizes++;
    this.#row = level;
    const { variantCount, replicasByLevelVariant, coresByLevelVariant, batchByLevelVariant } =
      this.#shape;
    for (let variant = 0; variant < variantCount; variant++) {
      const at = level * variantCount + variant;
      this.instances[variant] = replicasByLevelVariant[at]!;
      this.cores[variant] = coresByLevelVariant[at]!;
      this.startCores[variant] = coresByLevelVariant[at]!;
      this.batch[variant] = batchByLevelVariant[at]!;
      this.#held[variant] = this.instances[variant]! * this.cores[variant]!;
    }
  }
}

/**
 * Level that is followed first. @param initialQps NaN while the load is unknown: then the highest,
 * which carries any.
 */
export function firstLevel({ levels }: Pick<ThemisBundle, "levels">, initialQps: number): number {
  const level = levelForLoad(levels, initialQps);
  assert(level >= 0, "a bundle has a level");
  return level;
}
