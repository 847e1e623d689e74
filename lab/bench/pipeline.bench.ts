import { simulateLoki } from "stratagem/internal/methods/loki/simulate/simulate";
import type { LokiBundle } from "stratagem-runtime/internal/bundle/schema";
import { pipelineShapeOf } from "stratagem-runtime/internal/core/graph/pipeline-shape";
import {
  flowsFor,
  mostAccurateFirst,
} from "stratagem-runtime/internal/methods/loki/core/most-accurate-first";
import { planLayoutOf } from "stratagem-runtime/internal/methods/loki/core/plan-layout";
import { bench, describe } from "vitest";
import { lokiBundle, type TaskSketch } from "../../test/support/loki-bundle.ts";
import { fillWorkerTables, workerTablesFor } from "../../test/support/loki-worker-tables.ts";

/**
 * Loki's traffic analysis at 600 requests per second on 20 servers: profile, plan and shares of the
 * reference.
 */
const traffic = lokiBundle({
  sloMs: 250,
  workers: [20],
  policy: { drop: "deadline", routing: "auto" },
  tasks: [
    {
      name: "detect",
      variants: [
        {
          name: "yolov5s",
          accuracy: 0.7377,
          latencyMs: { 1: 11.04, 2: 19.12 },
          fanouts: { classify: 5.0927 },
        },
        {
          name: "yolov5m",
          accuracy: 0.8955,
          latencyMs: { 1: 17.37, 2: 29.7, 4: 53.49 },
          fanouts: { classify: 13.7759 },
        },
        {
          name: "yolov5l",
          accuracy: 0.9665,
          latencyMs: { 1: 21.3, 2: 38.96, 4: 72.68 },
          fanouts: { classify: 17.4684 },
        },
      ],
    },
    {
      name: "classify",
      parent: "detect",
      variants: [
        {
          name: "b0",
          accuracy: 0.9146,
          latencyMs: { 1: 3.91, 4: 6.11, 8: 10.5, 16: 19.16, 32: 35.62 },
        },
        {
          name: "b3",
          accuracy: 0.968,
          latencyMs: { 1: 6.56, 4: 7.66, 8: 13.33, 16: 25.6, 32: 43.69 },
        },
      ],
    },
  ],
  levels: [
    {
      loadQps: 600,
      instances: [
        { of: "detect/yolov5s", batch: 2, replicas: 1 },
        { of: "detect/yolov5m", batch: 4, replicas: 3 },
        { of: "detect/yolov5l", batch: 4, replicas: 5 },
        { of: "classify/b0", batch: 32, replicas: 2 },
        { of: "classify/b3", batch: 32, replicas: 9 },
      ],
      paths: [
        { along: ["detect/yolov5m", "classify/b3"], ratio: 0.37 },
        { along: ["detect/yolov5l", "classify/b3"], ratio: 0.2873 },
        { along: ["detect/yolov5l", "classify/b0"], ratio: 0.1714 },
        { along: ["detect/yolov5s", "classify/b3"], ratio: 0.1713 },
      ],
    },
  ],
});

/** Four tasks in a row, eight variants of each, all of them in the plan. */
function large(serverCount: number): LokiBundle {
  const taskCount = 4;
  const variantCount = 8;
  const replicas = Math.floor(serverCount / taskCount / variantCount);
  const names = Array.from({ length: taskCount }, (_, task) => `task${task}`);
  const tasks: TaskSketch[] = names.map((name, task) => ({
    name,
    ...(task === 0 ? {} : { parent: `task${task - 1}` }),
    variants: Array.from({ length: variantCount }, (_, variant) => ({
      name: `v${variant}`,
      accuracy: 0.5 + variant / 16,
      latencyMs: { 1: 4 + variant, 4: 8 + 3 * variant },
    })),
  }));
  const variants = Array.from({ length: variantCount }, (_, variant) => variant);
  return lokiBundle({
    tasks,
    workers: [serverCount],
    levels: [
      {
        loadQps: 20 * serverCount,
        instances: names.flatMap((name) =>
          variants.map((variant) => ({ of: `${name}/v${variant}`, batch: 4, replicas })),
        ),
        paths: variants.map((variant) => ({
          along: names.map((name) => `${name}/v${variant}`),
          ratio: 1 / variantCount,
        })),
      },
    ],
  });
}

describe("most accurate first", () => {
  const cases = [
    { name: "traffic analysis, 20 servers", bundle: traffic, demandQps: 500 },
    { name: "traffic analysis, 20 servers, at capacity", bundle: traffic, demandQps: 600 },
    { name: "4 tasks of 8 variants, 1000 servers", bundle: large(1000), demandQps: 20_000 },
  ];
  for (const { name, bundle, demandQps } of cases) {
    const shape = pipelineShapeOf(bundle);
    const level = bundle.levels[0];
    if (level === undefined) throw new Error("a bundle has a level");
    const layout = planLayoutOf(shape, level);
    const flows = flowsFor(shape, layout.groupCount);
    const capacityQps = new Float64Array(layout.groupCount);
    const servers = new Uint32Array(layout.groupCount);
    for (const [index, { replicas, throughputQps }] of level.plan.instances.entries()) {
      capacityQps[layout.groupByInstance[index] ?? 0] = replicas * throughputQps;
      servers[layout.groupByInstance[index] ?? 0] = replicas;
    }
    const tables = workerTablesFor(shape, layout, servers);
    const route = () =>
      mostAccurateFirst(shape, layout, demandQps, shape.fanout, capacityQps, 0.92, flows);
    bench(name, () => {
      if (!(route() > 0)) throw new Error("some of the demand fits");
    });
    bench(`${name}, with a table for every server`, () => {
      route();
      fillWorkerTables(shape, layout, tables);
      if (tables.probability.length === 0) throw new Error("there are tables");
    });
  }
});

describe("simulate traffic analysis", () => {
  for (const loadQps of [300, 570]) {
    /** A request becomes 14 queries in the mean. */
    const seconds = Math.ceil(1_000_000 / (14 * loadQps));
    bench(
      `${loadQps} requests/s for ${seconds} s, a million queries`,
      () => {
        const result = simulateLoki(traffic, {
          arrivals: { kind: "poisson", qps: loadQps },
          durationMs: seconds * 1000,
          seed: 1,
          serviceTimes: "p95",
          fanout: "rounded",
        });
        const queries = Object.values(result.byTask).reduce((sum, task) => sum + task.queries, 0);
        if (queries < 900_000 || result.violationRate > 0.02) {
          throw new Error("the plan does not keep up, so this is not the case to measure");
        }
      },
      { iterations: 5, time: 3000, warmupIterations: 2, warmupTime: 500 },
    );
  }
});
