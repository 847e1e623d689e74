import type { LokiBundle } from "../../runtime/bundle/schema.ts";
import { type LevelSketch, type LokiSketch, lokiBundle, type TaskSketch } from "./loki-bundle.ts";

/** A detector of two variants and a classifier of two; the large detector finds twice as much. */
export const CHAIN_TASKS: readonly TaskSketch[] = [
  {
    name: "detect",
    variants: [
      {
        name: "small",
        accuracy: 0.6,
        latencyMs: { 1: 10, 2: 15, 4: 25 },
        fanouts: { classify: 2 },
      },
      {
        name: "large",
        accuracy: 1,
        latencyMs: { 1: 30, 2: 50, 4: 90 },
        fanouts: { classify: 4 },
      },
    ],
  },
  {
    name: "classify",
    parent: "detect",
    variants: [
      { name: "small", accuracy: 0.8, latencyMs: { 1: 4, 2: 5, 4: 7, 8: 11 } },
      { name: "large", accuracy: 1, latencyMs: { 1: 8, 2: 12, 4: 20, 8: 36 } },
    ],
  },
];

/**
 * Six servers, 250 ms. Capacities of servers: detect large 40 (2 a batch), small 133; classify
 * large 200 (4 a batch), small 727 (8 a batch).
 */
const CHAIN_LEVELS: readonly LevelSketch[] = [
  {
    loadQps: 75,
    step: "hardware",
    instances: [
      { of: "detect/large", batch: 2, replicas: 2 },
      { of: "classify/large", batch: 4, replicas: 2 },
    ],
    paths: [{ along: ["detect/large", "classify/large"], ratio: 1 }],
  },
  {
    loadQps: 150,
    instances: [
      { of: "detect/large", batch: 2, replicas: 3 },
      { of: "detect/small", batch: 2, replicas: 1 },
      { of: "classify/small", batch: 8, replicas: 1 },
      { of: "classify/large", batch: 4, replicas: 1 },
    ],
    paths: [
      { along: ["detect/large", "classify/small"], ratio: 0.6 },
      { along: ["detect/large", "classify/large"], ratio: 0.1 },
      { along: ["detect/small", "classify/large"], ratio: 0.3 },
    ],
  },
  {
    loadQps: 500,
    instances: [
      { of: "detect/small", batch: 2, replicas: 4 },
      { of: "classify/small", batch: 8, replicas: 2 },
    ],
    paths: [{ along: ["detect/small", "classify/small"], ratio: 1 }],
  },
];

export const TREE_TASKS: readonly TaskSketch[] = [
  {
    name: "detect",
    variants: [
      {
        name: "small",
        accuracy: 0.6,
        latencyMs: { 1: 10, 2: 15, 4: 25 },
        fanouts: { cars: 2, faces: 0.25 },
      },
      {
        name: "large",
        accuracy: 1,
        latencyMs: { 1: 30, 2: 50, 4: 90 },
        fanouts: { cars: 4, faces: 0.5 },
      },
    ],
  },
  {
    name: "cars",
    parent: "detect",
    variants: [
      { name: "small", accuracy: 0.8, latencyMs: { 1: 4, 2: 5, 4: 7, 8: 11 } },
      { name: "large", accuracy: 1, latencyMs: { 1: 8, 2: 12, 4: 20, 8: 36 } },
    ],
  },
  {
    name: "faces",
    parent: "detect",
    variants: [{ name: "only", accuracy: 0.9, latencyMs: { 1: 5, 2: 8, 4: 14 } }],
  },
];

const TREE_LEVELS: readonly LevelSketch[] = [
  {
    loadQps: 75,
    step: "hardware",
    instances: [
      { of: "detect/large", batch: 2, replicas: 2 },
      { of: "cars/large", batch: 4, replicas: 2 },
      { of: "faces/only", batch: 1, replicas: 1 },
    ],
    paths: [
      { along: ["detect/large", "cars/large"], ratio: 1 },
      { along: ["detect/large", "faces/only"], ratio: 1 },
    ],
  },
  {
    loadQps: 150,
    instances: [
      { of: "detect/large", batch: 2, replicas: 3 },
      { of: "detect/small", batch: 2, replicas: 1 },
      { of: "cars/small", batch: 8, replicas: 1 },
      { of: "faces/only", batch: 1, replicas: 1 },
    ],
    paths: [
      { along: ["detect/large", "cars/small"], ratio: 0.7 },
      { along: ["detect/small", "cars/small"], ratio: 0.3 },
      { along: ["detect/large", "faces/only"], ratio: 0.7 },
      { along: ["detect/small", "faces/only"], ratio: 0.3 },
    ],
  },
];

/**
 * A detector and a classifier behind it on six servers, with plans for 75, 150 and 500 requests per
 * second; each field can be another.
 */
export function chainBundle(options: Partial<LokiSketch> = {}): LokiBundle {
  return lokiBundle({ tasks: CHAIN_TASKS, levels: CHAIN_LEVELS, workers: [6], ...options });
}

/**
 * A detector with two tasks behind it on six servers, with plans for 75 and 150 requests per
 * second.
 */
export function treeBundle(options: Partial<LokiSketch> = {}): LokiBundle {
  return lokiBundle({ tasks: TREE_TASKS, levels: TREE_LEVELS, workers: [6], ...options });
}
