/** Leads the servers from one plan to the next. */
import type { CommandBuffer } from "../../../core/command-buffer.ts";
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import { BUSY, DOWN, IDLE, LOADING, OFF, WorkerFleet } from "../../../core/graph/worker-fleet.ts";
import type { PaceMonitor } from "../../../core/pace.ts";
import { speedAtPace } from "./paced-plan.ts";
import { type PlacementScratch, placeWorkers } from "./placement.ts";
import type { PlanLayout } from "./plan-layout.ts";

/**
 * Servers under the plan that is followed.
 *
 * When the plan changes, a worker that holds the model of its new place goes on at once. One that
 * has to change finishes its batch, and stays with its task, in the group with the fewest servers,
 * until the task has another ready worker; only when all wait for each other does the first one go.
 */
export class Cluster {
  readonly fleet: WorkerFleet;
  layout: PlanLayout;
  /** Workers that are up and not set aside. */
  upCount = 0;
  /** Workers that are for the plan. */
  servers = 0;
  /** Whether the plan has all its servers. */
  isWhole = false;
  /** Throughput of each group's servers, ready or not. */
  readonly capacityQps: Float64Array;
  readonly assignedByGroup: Uint32Array;
  readonly #shape: PipelineShape;
  readonly #scratch: PlacementScratch;
  /** Ready workers that will leave their group. */
  readonly #isMover: Uint8Array;
  #moverCount = 0;

  /** Workers that are up and get no place in a plan. */
  readonly #isAside: Uint8Array;
  /** [workerCount]: states for the placement, to which a worker that is set aside is down. */
  readonly #placed: Uint8Array;
  readonly #paces: PaceMonitor;

  constructor(
    shape: PipelineShape,
    layouts: readonly PlanLayout[],
    layout: PlanLayout,
    paces: PaceMonitor,
  ) {
    this.#paces = paces;
    const groupCount = Math.max(...layouts.map((l) => l.groupCount));
    const instanceCount = Math.max(...layouts.map((l) => l.instanceCount));
    this.#shape = shape;
    this.layout = layout;
    this.fleet = new WorkerFleet(shape.workerCount, groupCount, shape.taskCount);
    this.capacityQps = new Float64Array(groupCount);
    this.assignedByGroup = new Uint32Array(groupCount);
    this.#isMover = new Uint8Array(shape.workerCount);
    this.#isAside = new Uint8Array(shape.workerCount);
    this.#placed = new Uint8Array(shape.workerCount);
    this.#scratch = {
      wanted: new Uint32Array(instanceCount),
      placedByTask: new Uint32Array(shape.taskCount),
    };
  }

  /** Follows a plan, the same or another one, with the workers that are up. */
  follow(layout: PlanLayout, out: CommandBuffer): void {
    const { fleet } = this;
    const { workerCount } = this.#shape;
    for (let worker = 0; worker < workerCount; worker++) this.#leave(worker);
    this.layout = layout;
    const placed = this.#placed;
    for (let worker = 0; worker < workerCount; worker++) {
      placed[worker] = this.#isAside[worker] === 1 ? DOWN : fleet.state[worker]!;
    }
    placeWorkers(this.#shape, layout, placed, this.#holds, this.#scratch, fleet.target);
    this.countCapacity();
    this.#isMover.fill(0);
    this.#moverCount = 0;
    for (let worker = 0; worker < workerCount; worker++) this.#settle(worker, out);
    this.#moveIdle(out);
  }

  comeUp(worker: number): void {
    this.fleet.state[worker] = OFF;
    this.upCount++;
  }

  goDown(worker: number): void {
    const { fleet } = this;
    this.#leave(worker);
    if (fleet.state[worker] === LOADING) fleet.loadingCount--;
    fleet.state[worker] = DOWN;
    fleet.model[worker] = NONE;
    if (this.#isAside[worker] === 1) this.#isAside[worker] = 0;
    else this.upCount--;
  }

  isAside(worker: number): boolean {
    return this.#isAside[worker] === 1;
  }

  /** The worker gets no place when a plan is followed next. */
  setAside(worker: number): void {
    this.#isAside[worker] = 1;
    this.upCount--;
  }

  takeBack(worker: number): void {
    this.#isAside[worker] = 0;
    this.upCount++;
  }

  modelReady(worker: number, out: CommandBuffer): void {
    const { fleet } = this;
    fleet.loadingCount--;
    fleet.state[worker] = IDLE;
    this.#settle(worker, out);
    this.#moveIdle(out);
  }

  /** @returns whether the worker is still there to take a batch. */
  finishBatch(worker: number, out: CommandBuffer): boolean {
    this.fleet.finish(worker);
    return this.#isMover[worker] === 0 || !this.#tryMove(worker, out);
  }

  /** Returns the most accurate group of a task with a ready worker, or NONE. */
  readyGroup(task: number): number {
    const { groupStart } = this.layout;
    const { readyByGroup } = this.fleet;
    for (let group = groupStart[task]!; group < groupStart[task + 1]!; group++) {
      if (readyByGroup[group]! > 0) return group;
    }
    return NONE;
  }

  /** Returns the most accurate group of a task that will have a worker, or NONE. */
  assignedGroup(task: number): number {
    const { groupStart } = this.layout;
    for (let group = groupStart[task]!; group < groupStart[task + 1]!; group++) {
      if (this.assignedByGroup[group]! > 0) return group;
    }
    return NONE;
  }

  /** Recomputes what the servers of each group carry at their pace. */
  countCapacity(): void {
    const { layout, capacityQps, assignedByGroup, fleet } = this;
    capacityQps.fill(0);
    assignedByGroup.fill(0);
    this.servers = 0;
    for (let worker = 0; worker < this.#shape.workerCount; worker++) {
      const instance = fleet.target[worker]!;
      if (instance === NONE) continue;
      const group = layout.groupByInstance[instance]!;
      const speed = speedAtPace(this.#shape, layout, group, this.#paces.meanPaceOf(worker));
      capacityQps[group]! += layout.throughputQpsByInstance[instance]! * speed;
      assignedByGroup[group]!++;
      this.servers++;
    }
    this.isWhole = this.servers === layout.servers;
  }

  readonly #holds = (worker: number, instance: number): boolean => {
    const model = this.fleet.model[worker]!;
    if (model === NONE) return false;
    const task = this.layout.taskByInstance[instance]!;
    if (this.layout.stageByTask[task] != null) return this.#shape.taskByVariant[model] === task;
    return model === this.layout.variantByInstance[instance];
  };

  /** Gives an idle worker its place, or one to wait at. */
  #settle(worker: number, out: CommandBuffer): void {
    const { fleet, layout } = this;
    const state = fleet.state[worker]!;
    const instance = fleet.target[worker]!;
    if (state === OFF && instance !== NONE) this.#load(worker, instance, out);
    if (state !== IDLE && state !== BUSY) return;
    const task = this.#shape.taskByVariant[fleet.model[worker]!]!;
    if (instance !== NONE && this.#holds(worker, instance)) {
      fleet.batch[worker] = layout.batchByInstance[instance]!;
      fleet.join(worker, layout.groupByInstance[instance]!, task);
      return;
    }
    this.#isMover[worker] = 1;
    this.#moverCount++;
    fleet.join(worker, this.#guestGroup(task), task);
  }

  /** Group of a task with the fewest ready workers, the first of several. */
  #guestGroup(task: number): number {
    const { groupStart } = this.layout;
    const { readyByGroup } = this.fleet;
    let best = groupStart[task]!;
    for (let group = best + 1; group < groupStart[task + 1]!; group++) {
      if (readyByGroup[group]! < readyByGroup[best]!) best = group;
    }
    return best;
  }

  #moveIdle(out: CommandBuffer): void {
    for (let worker = 0; this.#moverCount > 0 && worker < this.#shape.workerCount; worker++) {
      const isIdle = this.fleet.state[worker] === IDLE;
      if (isIdle && this.#isMover[worker] === 1) this.#tryMove(worker, out);
    }
  }

  /** @returns whether an idle worker has left its task. */
  #tryMove(worker: number, out: CommandBuffer): boolean {
    const { fleet } = this;
    const instance = fleet.target[worker]!;
    const task = this.#shape.taskByVariant[fleet.model[worker]!]!;
    const isStuck = instance !== NONE && fleet.loadingCount === 0;
    // A change inside the task must wait as well: while the worker loads, the task has one ready
    // worker less.
    if (fleet.readyByTask[task]! < 2 && !isStuck) {
      return false;
    }
    this.#leave(worker);
    this.#isMover[worker] = 0;
    this.#moverCount--;
    if (instance === NONE) {
      fleet.state[worker] = OFF;
      fleet.model[worker] = NONE;
      out.release(worker);
    } else this.#load(worker, instance, out);
    return true;
  }

  #load(worker: number, instance: number, out: CommandBuffer): void {
    const { fleet } = this;
    const variant = this.layout.variantByInstance[instance]!;
    fleet.state[worker] = LOADING;
    fleet.model[worker] = variant;
    fleet.loadingCount++;
    out.assign(worker, variant);
  }

  #leave(worker: number): void {
    const model = this.fleet.model[worker]!;
    if (model !== NONE) this.fleet.leave(worker, this.#shape.taskByVariant[model]!);
  }
}
