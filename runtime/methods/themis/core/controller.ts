/** Decides how many instances of how many cores there are to be. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { assert } from "../../../core/assert.ts";
import { levelForLoad } from "../../../core/level-choice.ts";
import { NO_WISH, type ThemisDemand } from "./demand.ts";
import { type ThemisShape, TRANSITION_CELLS } from "./shape.ts";

/** What there is, as the controller has to know it. Arrays are by task. */
export interface ThemisFleet {
  /** Instances that are up and stay. */
  readonly readyByTask: Uint32Array;
  /** Least cores that one of those has in force; 0 without any. */
  readonly coresInForceByTask: Uint32Array;
}

/** Whoever says what there is to be. Arrays are by task. */
export interface FleetController {
  /** Instances that there are to be, cores of each, those that a new one starts with, batches. */
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
  /** Looks at the traffic. @returns whether something is to change. */
  tick(nowMs: number, backlog: number, fleet: ThemisFleet): boolean;
  /** An instance has come up or has other cores. @returns whether something is to change. */
  review(fleet: ThemisFleet): boolean;
  /** An instance that was up is lost. */
  lose(fleet: ThemisFleet): void;
}

/** In place of a level: no plan is being moved to. */
const NO_GOAL = -1;

/**
 * What there is to be: how many instances each task has, of how many cores, and in what batches.
 * All of it is looked up.
 *
 * The plan of the level `base` is in force, or was before the traffic grew. When it grows beyond
 * what is carried, the row of `transitions` for the instances that are up says at once how many
 * cores each of them is to have, all of a task the same and never fewer than now, and how many
 * instances are to be added if that is not enough. The plan for the load follows when the demand
 * calls for it: what it has more is started first, and only when that is up and has its cores is
 * anything taken away. Nothing is started that would take more cores than the pool has, or that its
 * machines have no room for: where a plan does not fit beside what runs, one on the way to it comes
 * first. When an instance is lost,
 * the others get the cores of the row that is left until it is back. Source: Themis §5, fig. 4;
 * losses and full pools are ours.
 */
export class ThemisController implements FleetController {
  /**
   * [taskCount], each: instances that there are to be, cores of each, cores that a new one starts
   * with, and largest batches.
   */
  readonly instances: Uint32Array;
  readonly cores: Uint32Array;
  readonly startCores: Uint32Array;
  readonly batch: Uint32Array;
  /** Level whose load is carried, or will be once extra instances are up. */
  level: number;
  /**
   * How often `cores` has been set for all instances that there are, whatever cores they started
   * with.
   */
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
  /** [taskCount]: cores that the instances are to have together, at most. */
  readonly #held: Uint32Array;
  #base: number;
  #goal = NO_GOAL;
  /** Level whose instances there have to be for `cores` to be enough. */
  #row: number;

  /** @param level whose plan is in force at the start. @param demand null to stay with it. */
  constructor(
    { policy }: Pick<ThemisBundle, "policy">,
    shape: ThemisShape,
    demand: ThemisDemand | null,
    level: number,
  ) {
    const { taskCount } = shape;
    this.#shape = shape;
    this.#demand = demand;
    this.#extraCores = policy.extraCores;
    this.#isHorizontal = policy.scaling === "horizontal";
    this.instances = new Uint32Array(taskCount);
    this.cores = new Uint32Array(taskCount);
    this.startCores = new Uint32Array(taskCount);
    this.batch = new Uint32Array(taskCount);
    this.#held = new Uint32Array(taskCount);
    this.#base = level;
    this.#row = level;
    this.level = level;
    this.#adopt(level);
  }

  /** Level of the plan that is being moved to; that in force if none is. */
  get goal(): number {
    return this.#goal === NO_GOAL ? this.#base : this.#goal;
  }

  /**
   * Looks at the traffic.
   * @param backlog requests that wait.
   * @returns whether something is to change.
   */
  tick(nowMs: number, backlog: number, fleet: ThemisFleet): boolean {
    if (this.#demand === null) return false;
    this.#demand.look(nowMs, backlog, this.level, this.#base);
    const { needed, wanted } = this.#demand;
    const isBurst = needed > this.level && !this.#isHorizontal;
    if (isBurst) {
      this.burstCount++;
      this.level = needed;
      // If cores are short, those in excess go first, and instances follow with a later look.
      if (this.#stretch(needed, fleet)) return true;
    }
    const isSettled = wanted !== NO_WISH && this.#aimFor(wanted, fleet);
    return this.review(fleet) || isBurst || isSettled;
  }

  /** An instance has come up or has other cores. @returns whether something is to change. */
  review(fleet: ThemisFleet): boolean {
    if (this.#goal === NO_GOAL) return false;
    if (!this.#isThere(this.#goal, fleet)) return this.#approach(this.#goal);
    this.#settle(this.#goal, fleet);
    return true;
  }

  /**
   * Moves to the plan of a level, or to one on the way to it where there is no room for that beside
   * what runs.
   * @returns whether another is settled on at once.
   */
  #aimFor(wanted: number, fleet: ThemisFleet): boolean {
    const base = this.#base;
    let level = wanted;
    while (level !== base && !this.#fits(level)) level += level < base ? 1 : -1;
    if (level === base && wanted > base) {
      // Cores that the load takes are not given up for want of room.
      return false;
    }
    if (level === base && !this.#fits(base) && !this.#isThere(base, fleet)) {
      // Instances that it does not take any more leave no room for what the base has lost: they go
      // first.
      level = this.#rowFor(this.level, fleet.readyByTask);
      if (this.#isUp(level, fleet.readyByTask)) {
        this.#settle(level, fleet);
        return true;
      }
    }
    if (level !== this.goal || level !== this.level) this.#goal = level;
    return false;
  }

  /**
   * An instance that was up is lost; it is started again. Until it is there, the others get the
   * cores that the row for them says, if there is room for that besides.
   */
  lose(fleet: ThemisFleet): void {
    if (this.#demand === null || this.#isHorizontal) return;
    if (this.#isUp(this.#row, fleet.readyByTask)) return;
    const row = this.#rowFor(this.level, fleet.readyByTask);
    if (this.#isTight(row, this.level)) return;
    this.#carry(row, this.level, false);
    if (this.#goal === NO_GOAL) this.#goal = this.#base;
  }

  /**
   * Gives the instances that are up the cores that the load takes.
   * @returns whether others had to go for it.
   */
  #stretch(level: number, { readyByTask }: ThemisFleet): boolean {
    const row = this.#rowFor(level, readyByTask);
    // What the plan for the row takes always fits. More than that may not, and then cores that are
    // left of an earlier load go.
    const isTight = this.#isTight(row, level);
    this.#carry(row, level, isTight);
    if (isTight) this.#goal = NO_GOAL;
    return isTight;
  }

  /** Whether the pool has no room for what a row takes for a load beside all that there is. */
  #isTight(row: number, level: number): boolean {
    const { taskCount, levelCount, transitions, replicasByLevelTask } = this.#shape;
    const { machines } = this.#shape;
    const first = (row * levelCount + level) * taskCount * TRANSITION_CELLS;
    machines.clear();
    for (let task = 0; task < taskCount; task++) {
      const cell = first + task * TRANSITION_CELLS;
      const planned = replicasByLevelTask[row * taskCount + task]! + transitions[cell + 2]!;
      const cores = Math.max(this.cores[task]!, transitions[cell + 1]!);
      machines.add(Math.max(this.instances[task]!, planned), cores);
    }
    return !machines.fits();
  }

  /**
   * Takes over what a row takes for a load.
   * @param isTight whether in place of what there is, not beside it.
   */
  #carry(row: number, level: number, isTight: boolean): void {
    const { taskCount, levelCount, transitions, replicasByLevelTask } = this.#shape;
    const first = (row * levelCount + level) * taskCount * TRANSITION_CELLS;
    for (let task = 0; task < taskCount; task++) {
      const cell = first + task * TRANSITION_CELLS;
      const cores = transitions[cell + 1]!;
      const extras = transitions[cell + 2]!;
      const planned = replicasByLevelTask[row * taskCount + task]! + extras;
      this.batch[task] = transitions[cell]!;
      this.cores[task] = isTight ? cores : Math.max(this.cores[task]!, cores);
      this.instances[task] = isTight ? planned : Math.max(this.instances[task]!, planned);
      // Without extras, what is started is one that was lost.
      const isWhole = this.#extraCores === "same" || extras === 0;
      this.startCores[task] = isWhole ? this.cores[task]! : 1;
      this.#held[task] = this.instances[task]! * this.cores[task]!;
    }
    this.resizes++;
    this.#row = row;
  }

  /**
   * The highest level up to one whose instances are all up; the lowest if none is. Of those above,
   * plans may have no more instances but more cores.
   */
  #rowFor(level: number, readyByTask: Uint32Array): number {
    let row = level;
    while (row > 0 && !this.#isUp(row, readyByTask)) row--;
    return row;
  }

  /** Whether as many instances are up as a plan has. */
  #isUp(level: number, readyByTask: Uint32Array): boolean {
    const { taskCount, replicasByLevelTask } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      if (readyByTask[task]! < replicasByLevelTask[level * taskCount + task]!) return false;
    }
    return true;
  }

  /** Whether the instances of a plan are up with at least the cores that it gives them. */
  #isThere(level: number, { readyByTask, coresInForceByTask }: ThemisFleet): boolean {
    if (!this.#isUp(level, readyByTask)) return false;
    const { taskCount, coresByLevelTask } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      if (coresInForceByTask[task]! < coresByLevelTask[level * taskCount + task]!) return false;
    }
    return true;
  }

  /**
   * Starts what a plan has more, beside all that there is.
   * @returns whether that is more than was asked for before.
   */
  #approach(level: number): boolean {
    // To take cores from those that serve in order to start others would lose what the cores are
    // for.
    if (!this.#fits(level)) return false;
    const { taskCount, replicasByLevelTask, coresByLevelTask } = this.#shape;
    let isChanged = false;
    let isRaised = false;
    for (let task = 0; task < taskCount; task++) {
      const at = level * taskCount + task;
      const cores = coresByLevelTask[at]!;
      // No instance has fewer cores than `startCores`, but some may have no more: those that were
      // started for another plan, or with one core.
      this.#held[task] = this.#heldWith(cores, task);
      if (cores > this.startCores[task]!) {
        this.cores[task] = Math.max(this.cores[task]!, cores);
        this.startCores[task] = cores;
        isRaised = true;
      }
      if (replicasByLevelTask[at]! > this.instances[task]!) {
        this.#held[task]! += (replicasByLevelTask[at]! - this.instances[task]!) * cores;
        this.instances[task] = replicasByLevelTask[at]!;
        this.startCores[task] = cores;
        isChanged = true;
      }
    }
    if (isRaised) this.raises++;
    return isChanged || isRaised;
  }

  /** Whether the pool has room for what a plan has more, beside all that there is. */
  #fits(level: number): boolean {
    const { taskCount, replicasByLevelTask, coresByLevelTask, machines } = this.#shape;
    machines.clear();
    for (let task = 0; task < taskCount; task++) {
      const at = level * taskCount + task;
      const cores = coresByLevelTask[at]!;
      machines.add(Math.max(0, replicasByLevelTask[at]! - this.instances[task]!), cores);
      this.#addHeld(cores, task);
    }
    return machines.fits();
  }

  /**
   * Puts the instances of a task into the machines, none with fewer cores than so many. Some may
   * have more than others: as many as what they hold together says, and one some of that.
   */
  #addHeld(cores: number, task: number): void {
    const { machines } = this.#shape;
    const instances = this.instances[task]!;
    const least = Math.max(this.startCores[task]!, cores);
    const more = Math.max(this.cores[task]!, cores) - least;
    const rest = this.#heldWith(cores, task) - instances * least;
    const whole = more > 0 ? Math.floor(rest / more) : 0;
    const part = rest - whole * more;
    machines.add(whole, least + more);
    machines.add(part > 0 ? 1 : 0, least + part);
    machines.add(instances - whole - (part > 0 ? 1 : 0), least);
  }

  /** Tells what cores the instances of a task hold once none has fewer than so many. */
  #heldWith(cores: number, task: number): number {
    const instances = this.instances[task]!;
    const raised = instances * Math.max(0, cores - this.startCores[task]!);
    return Math.min(this.#held[task]! + raised, instances * Math.max(this.cores[task]!, cores));
  }

  /** All of a plan is there: what is beyond it goes. */
  #settle(level: number, fleet: ThemisFleet): void {
    this.#goal = NO_GOAL;
    this.#base = level;
    this.settledCount++;
    this.#adopt(level);
    // A burst that came since stays met, by the instances that there are now.
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
    const { taskCount, replicasByLevelTask, coresByLevelTask, batchByLevelTask } = this.#shape;
    for (let task = 0; task < taskCount; task++) {
      const at = level * taskCount + task;
      this.instances[task] = replicasByLevelTask[at]!;
      this.cores[task] = coresByLevelTask[at]!;
      this.startCores[task] = coresByLevelTask[at]!;
      this.batch[task] = batchByLevelTask[at]!;
      this.#held[task] = this.instances[task]! * this.cores[task]!;
    }
  }
}

/**
 * Level that is followed first.
 * @param initialQps NaN where the load is not known: then the highest, which carries any.
 */
export function firstLevel({ levels }: Pick<ThemisBundle, "levels">, initialQps: number): number {
  const level = levelForLoad(levels, initialQps);
  assert(level >= 0, "a bundle has a level");
  return level;
}
