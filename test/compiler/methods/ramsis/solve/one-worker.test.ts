/** One worker, against the best table of an oracle on the same arrivals. */
import { expect, test } from "vitest";
import { pooledProblem } from "../../../../../compiler/methods/ramsis/solve/pooled/pooled-problem.ts";
import {
  type SimulatedPolicy,
  simulatePooled,
} from "../../../../../compiler/methods/ramsis/solve/pooled/pooled-simulation.ts";
import { ramsis } from "../../../../../compiler/methods/ramsis/solve/ramsis.ts";
import type { RamsisFrame } from "../../../../../compiler/model/frames.ts";
import { loadApplication } from "../../../../../compiler/spec/load-application.ts";
import { GIVE_UP, NO_ACTION } from "../../../../../runtime/bundle/schema.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { bestTable, DROPS, WAITS } from "../../../../support/one-worker-oracle.ts";
import { writeSpec } from "../../../../support/spec-file.ts";

const QUERIES = 400_000;
const STEPS = 200;
/** In points. */
const TOLERANCE = 0.015;

interface Case {
  readonly qps: number;
  /** Of each variant its accuracy and its times for batches of 1, 2, …, ms. */
  readonly variants: readonly (readonly [number, readonly number[]])[];
}

const cases: readonly Case[] = [
  {
    qps: 61.37,
    variants: [
      [0.5301, [25.5, 37, 48.5, 59.5, 71, 82.5, 94, 105.5]],
      [0.5845, [38.5, 59, 79.5, 100, 120.5, 141.5, 162, 182.5]],
    ],
  },
  {
    qps: 73.96,
    variants: [
      [0.6178, [12.5, 23.5]],
      [0.6921, [17, 28.5]],
      [0.7501, [39.5, 63]],
      [0.847, [62, 124]],
    ],
  },
  {
    qps: 98.68,
    variants: [
      [0.685, [12.5, 17]],
      [0.7205, [25, 33.5]],
    ],
  },
  {
    qps: 120.1,
    variants: [
      [0.7466, [11.5, 17.5, 23.5, 29.5]],
      [0.8257, [21, 32, 43, 54]],
    ],
  },
  {
    qps: 89.54,
    variants: [
      [0.6194, [11.5]],
      [0.6568, [18]],
    ],
  },
];

test.each(cases)("$qps queries/s are served as well as can be", (own) => {
  const frame = frameOf(own);
  const { actionByState, mixture } = ramsis.solveLevel(frame, own.qps);
  const decided = (table: typeof actionByState) => tableOf(Uint16Array.from(table.data));
  const found = worthOf(frame, own, {
    table: decided(actionByState),
    mixture: mixture && { share: mixture.share, table: decided(mixture.actionByState) },
  });
  expect(found).toBeGreaterThan(oracle(frame, own) - TOLERANCE / 100);
});

function frameOf({ qps, variants }: Case): RamsisFrame {
  const spec = {
    version: 1,
    application: "one",
    slo: { latency: "100 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [qps] },
    cluster: { workers: 1 },
    tasks: [
      {
        name: "task",
        variants: variants.map(([accuracy], index) => {
          return { name: `v${index}`, accuracy, profile: `one-${qps}.json#v${index}` };
        }),
      },
    ],
    policy: { method: "ramsis" },
  };
  const times = variants.map(([, ms], index) => {
    const latencyMs = Object.fromEntries(ms.map((one, more) => [more + 1, one]));
    return [`v${index}`, { latencyMs }];
  });
  const profile = {
    format: "latency-profile/1",
    hardware: "test",
    variants: Object.fromEntries(times),
  };
  const path = writeSpec(spec, { [`one-${qps}.json`]: profile });
  return ramsis.frame(ofMethod("ramsis", loadApplication(path).application), new Map());
}

function tableOf(cells: Uint16Array): SimulatedPolicy["table"] {
  return { cells, decideCell: () => GIVE_UP };
}

/** Accuracy per query less the rate of violations. @param axes of the table, if it has its own. */
function worthOf(
  frame: RamsisFrame,
  { qps, variants }: Case,
  policy: SimulatedPolicy,
  axes: { rows?: Uint32Array; slackMs?: Float64Array } = {},
): number {
  const rng = new Rng(3, 4);
  let nowMs = 0;
  const arrivalMs = Float64Array.from({ length: QUERIES }, () => {
    nowMs -= (Math.log(1 - rng.nextFloat()) * 1000) / qps;
    return nowMs;
  });
  const surroundings = {
    arrivalMs,
    counted: [100, QUERIES - 100] as const,
    classByQuery: null,
    openServiceTimes: () => (variant: number, batch: number) =>
      variants[variant]?.[1][batch - 1] ?? Number.NaN,
  };
  const problem = { ...pooledProblem(frame, qps), ...axes };
  const { accuracySum, violations, queries } = simulatePooled(problem, surroundings, policy);
  return (accuracySum - violations) / queries;
}

function oracle(frame: RamsisFrame, own: Case): number {
  const { choices, capacity, sloMs } = pooledProblem(frame, own.qps);
  const actions = choices.map(({ batch, serviceMs, accuracy }) => {
    return { batch, ms: serviceMs, accuracy };
  });
  const best = bestTable(
    { arrivalsPerMs: own.qps / 1000, sloMs, capacity, actions, lossPrice: 1 },
    STEPS,
  );
  const cells = Uint16Array.from(best.cells, (cell) => {
    return cell === WAITS ? NO_ACTION : cell === DROPS ? GIVE_UP : (choices[cell]?.index ?? 0);
  });
  const rows = Uint32Array.from({ length: capacity }, (_, row) => row + 1);
  const slackMs = Float64Array.from({ length: STEPS + 1 }, (_, step) => (step * sloMs) / STEPS);
  const worth = worthOf(frame, own, { table: tableOf(cells), mixture: null }, { rows, slackMs });
  // What it reckons with is what its table does, but for the time that late queries take.
  expect(Math.abs(worth - best.gain)).toBeLessThan(0.008);
  return worth;
}
