/**
 * The cascade of `served-stages.ts`, its slow task scaled: one instance of one core, of two, and
 * two of one, by the load.
 */
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import {
  type ThemisBundleSketch,
  type ThemisLevelSketch,
  type ThemisTaskSketch,
  themisBundle,
} from "../../../../support/themis-bundle.ts";
import { withModels } from "../../../server/graph/served-tasks.ts";

const TASKS: readonly ThemisTaskSketch[] = [
  { name: "gate", accuracy: 0.7, fit: { gamma: 3, epsilon: 1, delta: 0.5, eta: 0.5 } },
  {
    name: "slow",
    from: { gate: 0.4 },
    accuracy: 0.9,
    // Two at a time take 68 ms on one core, 35.5 on two.
    fit: { gamma: 30, epsilon: 5, delta: 1, eta: 1 },
  },
  {
    name: "last",
    from: { gate: 0.6, slow: 1 },
    accuracy: 0.8,
    fit: { gamma: 1, epsilon: 0.5, delta: 0.25, eta: 0.25 },
  },
];

/** Of 20, 40 and 80 requests a second. */
const LOADS = [0.5, 1, 2].map((load) => 40 * load);

/** @param loads of the three levels. */
export function levelsAt(loads: readonly number[]): ThemisLevelSketch[] {
  const slow = [
    [2, 1, 1],
    [2, 2, 1],
    [2, 1, 2],
  ] as const;
  return slow.map((stage, index) => ({
    loadQps: loads[index] ?? Number.NaN,
    steady: [[4, 1, 1], stage, [4, 1, 1]],
  }));
}

/** Three levels; a machine of eight cores. */
export function servedScales(sketch: ThemisBundleSketch = {}): ThemisBundle {
  const bundle = themisBundle({
    sloMs: 1000,
    tasks: TASKS,
    levels: levelsAt(LOADS),
    workers: 2,
    ...sketch,
  });
  return { ...bundle, application: "stages", tasks: withModels(bundle.tasks) };
}
