import type { ThemisBundle, ThemisOptions } from "../../runtime/bundle/schema.ts";
import {
  ThemisController,
  type ThemisFleet,
} from "../../runtime/methods/themis/core/controller.ts";
import { NO_WISH, type ThemisDemand } from "../../runtime/methods/themis/core/demand.ts";
import { themisShapeOf } from "../../runtime/methods/themis/core/shape.ts";
import { type ThemisBundleSketch, themisBundle } from "./themis-bundle.ts";

export type Row = NonNullable<ThemisBundleSketch["transitions"]>[number];

const LEVELS: NonNullable<ThemisBundleSketch["levels"]> = [
  {
    loadQps: 20,
    steady: [
      [1, 1, 1],
      [1, 1, 1],
    ],
  },
  {
    loadQps: 60,
    steady: [
      [2, 1, 2],
      [1, 1, 1],
    ],
  },
  {
    loadQps: 150,
    steady: [
      [2, 2, 3],
      [2, 1, 2],
    ],
  },
];

const LOWEST: Row[number] = [
  [1, 1, 0],
  [1, 1, 0],
];
const MIDDLE: Row[number] = [
  [2, 1, 0],
  [1, 1, 0],
];
const HIGHEST: Row[number] = [
  [2, 2, 0],
  [2, 1, 0],
];
const TRANSITIONS: readonly Row[] = [
  [
    LOWEST,
    [
      [3, 2, 0],
      [1, 1, 0],
    ],
    [
      [4, 4, 1],
      [2, 2, 0],
    ],
  ],
  [
    MIDDLE,
    MIDDLE,
    [
      [4, 3, 0],
      [2, 2, 0],
    ],
  ],
  [HIGHEST, HIGHEST, HIGHEST],
];

/** A demand that says what a test tells it to. */
class ToldDemand implements ThemisDemand {
  readonly perBeat = new Float64Array(60);
  readonly beatMs = 1000;
  needed = 0;
  wanted = NO_WISH;
  readonly looks: unknown[] = [];

  onArrival(): void {}

  onForecast(): void {}

  onShare(): void {}

  look(...seen: readonly number[]): void {
    this.looks.push(seen);
  }
}

/**
 * A controller, and the fleet that it believes in: `[instances up, least cores in force]` of each
 * task.
 */
export class Desk {
  readonly demand = new ToldDemand();
  readonly controller: ThemisController;
  #fleet: ThemisFleet;

  constructor(level: number, sketch: ThemisBundleSketch = {}, isFixed = false) {
    const bundle = deskBundle(sketch);
    const shape = themisShapeOf(bundle);
    this.controller = new ThemisController(bundle, shape, isFixed ? null : this.demand, level);
    const { stages } = bundle.levels[level]?.steady ?? { stages: [] };
    this.#fleet = fleetOf(stages.map(({ instances, cores }) => [instances, cores]));
  }

  /** Instances that there are to be of each task, and cores of each. */
  get plan(): string {
    return this.#pairs(this.controller.instances, this.controller.cores);
  }

  get batches(): number[] {
    return [...this.controller.batch];
  }

  get startCores(): number[] {
    return [...this.controller.startCores];
  }

  look(needed: number, wanted = NO_WISH): boolean {
    this.demand.needed = needed;
    this.demand.wanted = wanted;
    return this.controller.tick(1000, 0, this.#fleet);
  }

  /** Instances come up, go, or have other cores. */
  have(...upAndCores: readonly (readonly [number, number])[]): this {
    this.#fleet = fleetOf(upAndCores);
    return this;
  }

  review(): boolean {
    return this.controller.review(this.#fleet);
  }

  lose(): void {
    this.controller.lose(this.#fleet);
  }

  #pairs(instances: Uint32Array, cores: Uint32Array): string {
    return [...instances].map((count, task) => `${count}x${cores[task]}`).join(" ");
  }
}

function fleetOf(upAndCores: readonly (readonly [number, number])[]): ThemisFleet {
  return {
    readyByVariant: Uint32Array.from(upAndCores, ([up]) => up),
    coresInForceByVariant: Uint32Array.from(upAndCores, ([up, cores]) => (up === 0 ? 0 : cores)),
  };
}

/** Two tasks at three loads. */
export function deskBundle(sketch: ThemisBundleSketch): ThemisBundle {
  const policy: Partial<ThemisOptions> = { maxBatch: 8, maxCores: 4, ...sketch.policy };
  return themisBundle({
    levels: LEVELS,
    transitions: TRANSITIONS,
    workers: 8,
    cores: 4,
    ...sketch,
    policy,
  });
}
