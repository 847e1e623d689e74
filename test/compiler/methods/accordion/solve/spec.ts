/** An application of Accordion: three models on two pools; `edited` makes one with mistakes. */
import { accordionFrame } from "../../../../../compiler/methods/accordion/solve/frame.ts";
import type { AccordionFrame } from "../../../../../compiler/model/frames.ts";
import {
  type LoadedApplication,
  loadApplication,
} from "../../../../../compiler/spec/load-application.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { edited, folderOf } from "../../../spec/spec-folder.ts";

const PLACES = `version: 1
application: places
slo: { latency: 200 ms }
workload:
  arrivals: { process: poisson }
  loads: [10, 40]
cluster:
  pools:
    - { name: fast, hardware: cpu, workers: 6 }
tasks:
  - name: classify
    variants:
      - { name: deep, accuracy: 0.9, profile: profile.json#deep }
      - { name: small, accuracy: 0.8, profile: profile.json#small }
policy:
  method: accordion
  maxDepth: 4
  maxBatch: 8
  meanBatch: 4
`;

/** A second pool, whose places are slower, but for the last layer of deep. */
export const TWO_POOLS: Change = [
  "workers: 6 }",
  "workers: 2 }\n    - { name: slow, hardware: old, workers: 2 }",
];
export const TWO_PROFILES: Change = [
  "profile: profile.json#deep }",
  "profile: [profile.json#deep, old.json#deep] }",
];
export const TWO_SMALL: Change = [
  "profile: profile.json#small }",
  "profile: [profile.json#small, old.json#small] }",
];

const PROFILE = {
  format: "latency-profile/1",
  hardware: "cpu",
  variants: {
    deep: {
      latencyMs: { "1": 33 },
      layers: {
        ms: [4, 6, 3, 7, 5, 5],
        overheadMs: 1,
        stages: {
          "0-3": quantiles(14, 13.5),
          "3-6": quantiles(19, 18),
          "0-2": quantiles(11, 10.5),
          "2-4": quantiles(11.5, 10.9),
        },
      },
    },
    small: { latencyMs: { "1": 6 }, layers: { ms: [3, 2], overheadMs: 1, stages: {} } },
    sped: { latencyMs: { "1": quantiles(1400, 1300) }, speedups: { "2": 1.25, "4": 2 } },
    both: {
      latencyMs: { "1": 6 },
      layers: { ms: [3, 2], overheadMs: 1, stages: {} },
      speedups: { "2": 9 },
    },
    long: { latencyMs: { "1": 900 }, layers: { ms: [300, 300, 300], overheadMs: 0, stages: {} } },
  },
};
const OLD_PROFILE = {
  format: "latency-profile/1",
  hardware: "old",
  variants: {
    deep: { layers: { ms: [8, 12, 6, 14, 10, 2], overheadMs: 2, stages: {} } },
    small: { layers: { ms: [6, 4], overheadMs: 2, stages: {} } },
    short: { layers: { ms: [8, 12, 6], overheadMs: 2, stages: {} } },
    sped: { latencyMs: { "1": 2800 }, speedups: { "2": 1.25 } },
  },
};

function quantiles(p95: number, mean: number): object {
  return { p50: mean, p95, p99: p95 + 1, mean };
}

export type Change = readonly [from: string, to: string];

/** With each pair of texts replaced. */
export function loadedPlaces(...changes: readonly Change[]): LoadedApplication {
  const spec = changes.reduce((text, [from, to]) => edited(text, from, to), PLACES);
  const folder = folderOf({
    "app.yaml": spec,
    "profile.json": JSON.stringify(PROFILE),
    "old.json": JSON.stringify(OLD_PROFILE),
    "deep.onnx": "",
  });
  return loadApplication(`${folder}/app.yaml`);
}

export function placesFrame(...changes: readonly Change[]): AccordionFrame {
  const { application } = loadedPlaces(...changes);
  return accordionFrame(ofMethod("accordion", application), new Map());
}
