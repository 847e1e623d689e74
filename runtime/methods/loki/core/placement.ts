/** Matches the workers that are up to the instances of a plan. */
import { NONE, type PipelineShape } from "../../../core/graph/pipeline-shape.ts";
import { BUSY, DOWN, OFF } from "../../../core/graph/worker-fleet.ts";
import type { PlanLayout } from "./plan-layout.ts";

/** Scratch of `placeWorkers`, by instance and by task. */
export interface PlacementScratch {
  readonly wanted: Uint32Array;
  readonly placedByTask: Uint32Array;
}

/**
 * Matches the workers that are up to the instances of a plan, so that as few as possible have to
 * load a model: first those that hold the right one, then those that are off, then idle ones and at
 * last busy ones. With fewer workers than the plan has servers every task gets one first, and the
 * instances then equal parts of their servers; so a worker more or less changes the place of no
 * other.
 * @param holds whether a worker holds what an instance runs.
 * @param targetByWorker filled: an instance, or NONE where the plan needs no worker.
 */
export function placeWorkers(
  shape: PipelineShape,
  layout: PlanLayout,
  stateByWorker: Uint8Array,
  holds: (worker: number, instance: number) => boolean,
  scratch: PlacementScratch,
  targetByWorker: Int32Array,
): void {
  targetByWorker.fill(NONE);
  scratch.placedByTask.fill(0);
  for (let pool = 0; pool < shape.poolCount; pool++) {
    countWanted(shape, layout, stateByWorker, pool, scratch);
    const { wanted } = scratch;
    for (let instance = 0; instance < layout.instanceCount; instance++) {
      if (layout.poolByInstance[instance] !== pool) continue;
      for (let worker = 0; worker < shape.workerCount && wanted[instance]! > 0; worker++) {
        const state = stateByWorker[worker]!;
        if (shape.poolByWorker[worker] !== pool || state === DOWN || state === OFF) continue;
        if (targetByWorker[worker] !== NONE || !holds(worker, instance)) continue;
        targetByWorker[worker] = instance;
        wanted[instance]!--;
      }
    }
    let instance = nextWanted(layout, wanted, pool, 0);
    for (let choice = 0; choice < 3; choice++) {
      for (let worker = 0; worker < shape.workerCount; worker++) {
        if (instance === NONE) break;
        const state = stateByWorker[worker]!;
        const rank = state === OFF ? 0 : state === BUSY ? 2 : 1;
        if (shape.poolByWorker[worker] !== pool || state === DOWN || rank !== choice) continue;
        if (targetByWorker[worker] !== NONE) continue;
        targetByWorker[worker] = instance;
        wanted[instance]!--;
        instance = nextWanted(layout, wanted, pool, instance);
      }
    }
  }
}

function nextWanted(layout: PlanLayout, wanted: Uint32Array, pool: number, from: number): number {
  for (let instance = from; instance < layout.instanceCount; instance++) {
    if (layout.poolByInstance[instance] === pool && wanted[instance]! > 0) return instance;
  }
  return NONE;
}

function countWanted(
  shape: PipelineShape,
  layout: PlanLayout,
  stateByWorker: Uint8Array,
  pool: number,
  { wanted, placedByTask }: PlacementScratch,
): void {
  const { instanceCount, poolByInstance, replicasByInstance, taskByInstance } = layout;
  let up = 0;
  for (let worker = 0; worker < shape.workerCount; worker++) {
    if (shape.poolByWorker[worker] === pool && stateByWorker[worker] !== DOWN) up++;
  }
  for (let instance = 0; instance < instanceCount; instance++) wanted[instance] = 0;
  for (; up > 0; up--) {
    let best = NONE;
    let bestPart = 1;
    for (let instance = 0; instance < instanceCount; instance++) {
      if (poolByInstance[instance] !== pool) continue;
      const part = wanted[instance]! / replicasByInstance[instance]!;
      if (part >= 1) continue;
      const rank = placedByTask[taskByInstance[instance]!] === 0 ? -1 : part;
      if (rank >= bestPart) continue;
      best = instance;
      bestPart = rank;
    }
    if (best === NONE) return;
    wanted[best]!++;
    placedByTask[taskByInstance[best]!]!++;
  }
}
