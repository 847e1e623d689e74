/**
 * Describes the changes of a level's plan when a higher load arrives at once: the transitions of a
 * Themis bundle.
 */
import { followedLevels, type ThemisBundle } from "../../../bundle/schema.ts";

export interface Burst {
  readonly loadQps: number;
  /** Cores of all instances, those to add included. */
  readonly cores: number;
  /** In the order of the tasks. */
  readonly stages: readonly BurstStage[];
}

export interface BurstStage {
  readonly task: string;
  readonly batch: number;
  readonly cores: number;
  /** Instances that run already. */
  readonly instances: number;
  /** Instances to add, of `extraCores` cores each. */
  readonly extras: number;
  readonly extraCores: number;
}

/**
 * Returns the bursts to every higher level, ascending. @param level index of the level whose plan
 * runs.
 */
export function burstsFrom(bundle: ThemisBundle, level: number): Burst[] {
  const { levels } = bundle;
  return levels.slice(level + 1).map((_, offset) => burstTo(bundle, level, level + 1 + offset));
}

/** Merges loads with the same changes into one burst, that of the highest of them. */
export function distinctBursts(bursts: readonly Burst[]): Burst[] {
  const keys = bursts.map(({ stages }) => JSON.stringify(stages));
  return bursts.filter((_, index) => keys[index] !== keys[index + 1]);
}

function burstTo(bundle: ThemisBundle, from: number, to: number): Burst {
  const { levels, tasks, transitions, policy } = bundle;
  const row = (from * followedLevels(bundle).length + to) * tasks.length;
  const stages = tasks.map(({ name }, task): BurstStage => {
    const at = 3 * (row + task);
    const [batch = 0, cores = 0, extras = 0] = transitions.data.subarray(at, at + 3);
    const instances = levels[from]?.steady.stages[task]?.instances ?? 0;
    const extraCores = policy.extraCores === "one" ? 1 : cores;
    return { task: name, batch, cores, instances, extras, extraCores };
  });
  return {
    loadQps: levels[to]?.loadQps ?? Number.NaN,
    cores: stages.reduce(
      (sum, { cores, instances, extras, extraCores }) =>
        sum + cores * instances + extraCores * extras,
      0,
    ),
    stages,
  };
}
