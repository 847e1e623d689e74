import type { ThemisBundle } from "../../runtime/bundle/schema.ts";
import type { ThemisDispatcherOptions } from "../../runtime/methods/themis/core/themis-dispatcher.ts";
import { type ThemisBundleSketch, themisBundle } from "./themis-bundle.ts";
import { ThemisDriver } from "./themis-driver.ts";

const TASKS = [
  { name: "first", fit: { gamma: 4, epsilon: 2, delta: 1, eta: 1 } },
  { name: "second", from: { first: 1 }, fit: { gamma: 4, epsilon: 2, delta: 1, eta: 1 } },
];

/** Two instances of the first task and one of the second; four and two of two cores. */
export const LEVELS: NonNullable<ThemisBundleSketch["levels"]> = [
  {
    loadQps: 50,
    steady: [
      [4, 1, 2],
      [2, 1, 1],
    ],
  },
  {
    loadQps: 200,
    steady: [
      [8, 2, 4],
      [4, 2, 2],
    ],
  },
];
export const TRANSITIONS: NonNullable<ThemisBundleSketch["transitions"]> = [
  [
    [
      [4, 1, 0],
      [2, 1, 0],
    ],
    [
      [8, 4, 1],
      [4, 4, 0],
    ],
  ],
  [
    [
      [8, 2, 0],
      [4, 2, 0],
    ],
    [
      [8, 2, 0],
      [4, 2, 0],
    ],
  ],
];

/** Two stages at two loads; a look every 100 ms, three of which have to agree. */
export function twoTasks(sketch: ThemisBundleSketch = {}): ThemisBundle {
  return themisBundle({
    tasks: TASKS,
    levels: LEVELS,
    transitions: TRANSITIONS,
    workers: 8,
    cores: 4,
    sloMs: 200,
    ...sketch,
    policy: { tickMs: 100, stableTicks: 3, predictor: "last-max", ...sketch.policy },
  });
}

/** At the lower load, all instances up. */
export function twoTasksUp(
  sketch: ThemisBundleSketch = {},
  options: Partial<ThemisDispatcherOptions> = {},
): ThemisDriver {
  return new ThemisDriver(twoTasks(sketch), { initialDemandQps: 50, ...options }).start();
}
