/**
 * Scaling plans for the summarising pipeline, three stages, batches and cores up to 16, SLO 2550
 * ms: every mode at several loads, warm, options included.
 */

import { ExactScaler } from "stratagem/internal/methods/themis/solve/exact";
import { solveAsPaper } from "stratagem/internal/methods/themis/solve/paper";
import { isPlan } from "stratagem/internal/methods/themis/solve/problem";
import type { ScalingMode } from "stratagem/internal/methods/themis/solve/task-options";
import { bench, describe } from "vitest";
import { chainOf, fittedChain, REFERENCE } from "../../test/support/themis-reference.ts";

const LOADS_QPS = [2, 6, 10, 14, 20];

// Stages of about that weight stand in where the reference data are not.
const [name, pipeline] =
  REFERENCE === undefined
    ? ([
        "made-up stages, as STRATAGEM_REFERENCE is not set",
        chainOf(
          [
            { gamma: 20, epsilon: 50, delta: 2, eta: 30 },
            { gamma: 300, epsilon: 10, delta: 70, eta: 10 },
            { gamma: 250, epsilon: 10, delta: 80, eta: 20 },
          ],
          16,
          16,
          2550,
        ),
      ] as const)
    : (["fitted stages", fittedChain("nlp", 16, 16)] as const);

const MODES: readonly (readonly [string, ScalingMode])[] = [
  ["joint", { kind: "joint" }],
  ["vertical", { kind: "vertical", instances: [1, 1, 1] }],
  ["vertical, 2, 8 and 8 instances", { kind: "vertical", instances: [2, 8, 8] }],
  ["horizontal", { kind: "horizontal" }],
];

describe(`exact, ${name}`, () => {
  const scaler = new ExactScaler(pipeline);
  for (const [mode, of] of MODES) {
    for (const loadQps of LOADS_QPS) {
      const isFeasible = isPlan(scaler.solve(loadQps, of));
      bench(`${mode}, ${loadQps}/s${isFeasible ? "" : ", no plan"}`, () => {
        if (isPlan(scaler.solve(loadQps, of)) !== isFeasible) throw new Error("the same answer");
      });
    }
  }
});

describe(`the paper's programmes, ${name}`, () => {
  for (const [mode, of] of MODES) {
    if (of.kind === "joint") continue;
    bench(
      `${mode}, 6/s`,
      () => {
        if (!isPlan(solveAsPaper({ ...pipeline, loadQps: 6 }, of))) throw new Error("a plan");
      },
      { iterations: 20, time: 0 },
    );
  }
});
