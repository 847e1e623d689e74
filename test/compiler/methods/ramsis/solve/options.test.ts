/**
 * What the options of a policy do to its frame and its levels, on an application of two variants
 * with measured distributions.
 */
import { expect, test } from "vitest";
import {
  arrivalCounts,
  dispersionOf,
} from "../../../../../compiler/methods/ramsis/solve/arrival-counts.ts";
import { ramsis } from "../../../../../compiler/methods/ramsis/solve/ramsis.ts";
import { joinShortestQueue } from "../../../../../compiler/methods/ramsis/solve/shortest-queue.ts";
import { serviceAtoms } from "../../../../../compiler/methods/ramsis/solve/worker-problem.ts";
import { arrivalSource } from "../../../../../compiler/simulate/arrivals.ts";
import type {
  Application,
  Arrivals,
  RamsisPolicy,
} from "../../../../../compiler/spec/application.ts";
import { loadApplication } from "../../../../../compiler/spec/load-application.ts";
import { Rng } from "../../../../../runtime/core/rng.ts";
import { ofMethod } from "../../../../support/of-method.ts";
import { workerProblem } from "../../../../support/worker-problem.ts";

const { application: letters } = loadApplication("policies/letters/app.yaml");
const { application: images } = loadApplication("policies/image-classification/app.yaml");

interface Change {
  readonly from?: Application;
  readonly policy?: Partial<RamsisPolicy>;
  readonly arrivals?: Arrivals;
}

function changed({ from = letters, policy = {}, arrivals = from.arrivals }: Change): Application {
  const small = {
    balancer: "round-robin",
    discretization: { kind: "fixed", steps: 20 },
    maxQueue: 8,
  };
  return { ...from, arrivals, policy: { ...from.policy, ...small, ...policy } } as Application;
}

function mistakesOf(change: Change): string[] {
  return [...ramsis.mistakes(ofMethod("ramsis", changed(change)))].map(
    ({ code, path }) => `${code} ${path.join(".")}`,
  );
}

function frameOf(change: Change) {
  expect(mistakesOf(change)).toEqual([]);
  return ramsis.frame(ofMethod("ramsis", changed(change)), new Map());
}

const GAMMA: Arrivals = { process: "gamma", cv2: 4 };
const OPTIONS: [string, Change][] = [
  ["quantiles", { policy: { serviceTimes: "quantiles" } }],
  ["variable batching", { policy: { batching: "variable" } }],
  ["shortest-queue", { policy: { balancer: "shortest-queue" } }],
  ["a model-based grid", { policy: { discretization: { kind: "model-based" } } }],
  ["bursts", { arrivals: GAMMA }],
  [
    "all of them",
    {
      policy: {
        serviceTimes: "quantiles",
        batching: "variable",
        balancer: "shortest-queue",
        discretization: { kind: "model-based" },
        maxQueue: 3,
      },
      arrivals: GAMMA,
    },
  ],
];

test.each(OPTIONS)("with %s the tables alone say again what a level promises", (_, change) => {
  const frame = frameOf(change);
  for (const loadQps of [300, 1500]) {
    const level = ramsis.solveLevel(frame, loadQps);
    const again = ramsis.expectedOf(frame, level);
    expect(again.violationRate).toBeCloseTo(level.expected.violationRate, 11);
    expect(again.accuracyPerQuery).toBeCloseTo(level.expected.accuracyPerQuery, 11);
    expect(again.byBatch).toEqual(level.expected.byBatch);
    expect(level.expected.accuracyPerQuery).toBeLessThanOrEqual(
      level.expected.upperBoundAccuracy + 1e-12,
    );
  }
});

test("a ceiling holds with every option", () => {
  for (const [, change] of OPTIONS) {
    const frame = frameOf(change);
    const free = ramsis.solveLevel(frame, 1500).expected;
    const ceiling = free.violationRate / 2;
    const strict = { ...frame, slo: { ...frame.slo, maxViolationRate: ceiling } };
    const { expected, feasible } = ramsis.solveLevel(strict, 1500);
    expect(expected.accuracyPerQuery).toBeLessThanOrEqual(free.accuracyPerQuery + 1e-9);
    expect(feasible).toBe(expected.violationRate <= ceiling);
  }
});

test("the model-based grid has each service time below the SLO once, between 0 and the SLO", () => {
  const { decisionSpace, tasks } = frameOf({ policy: { discretization: { kind: "model-based" } } });
  const grid = [...decisionSpace.slackMs.data];
  const [task] = tasks;
  const times = new Set([0, letters.slo.latencyMs]);
  task?.variants.forEach(({ dominated }, variant) => {
    for (let batch = 1; batch <= 8 && !dominated; batch++) {
      const ms = task.serviceTimes.decisionMs.data[variant * 9 + batch - 1] ?? 0;
      if (ms < letters.slo.latencyMs) times.add(ms);
    }
  });
  expect(grid).toEqual([...times].sort((a, b) => a - b));
  expect(decisionSpace.slackMs.shape).toEqual([grid.length]);
});

test("variable batching may take part of the queue, and serves no worse", () => {
  const loadQps = 2000;
  const maximal = frameOf({ from: images });
  const variable = frameOf({ from: images, policy: { batching: "variable" } });
  const part = ramsis.solveLevel(variable, loadQps);
  const whole = ramsis.solveLevel(maximal, loadQps);
  expect(part.expected.accuracyPerQuery).toBeGreaterThan(whole.expected.accuracyPerQuery);
  const [, slackCount = 0] = part.actionByState.shape;
  const batches = [...part.actionByState.data].map(
    (action) => variable.decisionSpace.actions.data[2 * action + 1] ?? 0,
  );
  expect(batches.some((batch, cell) => batch < Math.floor(cell / slackCount) + 1)).toBe(true);
});

test("bursts cost accuracy, and arrivals more regular than Poisson count as Poisson", () => {
  const at = (arrivals: Arrivals) =>
    ramsis.solveLevel(frameOf({ from: images, arrivals }), 2000).expected;
  const poisson = at({ process: "poisson" });
  expect(at(GAMMA).accuracyPerQuery).toBeLessThan(poisson.accuracyPerQuery);
  expect(at({ process: "gamma", cv2: 0.5 })).toEqual(poisson);
  expect(frameOf({ arrivals: GAMMA }).arrivals).toEqual(GAMMA);
});

test("a profile without quantiles has no random times; pooled ones are checked", () => {
  expect(mistakesOf({ from: images, policy: { serviceTimes: "quantiles" } })).toEqual([
    "INPUT_CONFLICT policy.serviceTimes",
  ]);
  const pooled = { balancer: "pooled" } as const;
  expect(mistakesOf({ arrivals: GAMMA, policy: pooled })).toEqual([]);
  expect(mistakesOf({ policy: { ...pooled, objective: "per-decision" } })).toEqual([
    "INPUT_CONFLICT policy.objective",
  ]);
  expect(mistakesOf({ policy: { ...pooled, discretization: { kind: "model-based" } } })).toEqual([
    "INPUT_CONFLICT policy.discretization",
  ]);
  expect(mistakesOf({ from: images, policy: { batching: "variable", maxQueue: 1000 } })).toEqual([
    "INPUT_INVALID_VALUE policy",
  ]);
});

test("a recorded trace is as bursty as its arrivals, and rates are Poisson inside", () => {
  const arrivalMs = new Float64Array(50_000);
  arrivalSource({ kind: "gamma", qps: 1000, cv2: 4 }, new Rng(5, 0)).fill(arrivalMs);
  const recorded = { kind: "arrivals", arrivalMs } as const;
  const rates = {
    kind: "rates",
    startMs: Float64Array.of(0),
    qps: Float64Array.of(100),
    endMs: 1000,
  } as const;
  const modelOf = (trace: typeof recorded | typeof rates) =>
    frameOf({ arrivals: { process: "trace", file: "/data/day.csv", trace } }).arrivals;
  expect(modelOf(rates)).toEqual({ process: "trace", file: "day.csv", dispersion: 1 });
  const { dispersion } = modelOf(recorded) as { dispersion: number };
  expect(dispersion).toBeGreaterThan(3);
  expect(dispersion).toBeLessThan(5);
});

test("atoms of a service time keep its mean, and one without a distribution is certain", () => {
  const problem = workerProblem({
    workerCount: 1,
    loadQps: 10,
    sloMs: 100,
    steps: 4,
    maxQueue: 1,
    accuracy: [1],
    serviceMs: [[20, 30]],
  });
  expect(serviceAtoms(problem, { variant: 0, batch: 2 })).toEqual([{ ms: 30, probability: 1 }]);
  const knots = [4, 10, 20, 30, 32.5];
  const serviceKnotsMs = Float64Array.from([...knots, ...knots]);
  const atoms = serviceAtoms({ ...problem, serviceKnotsMs }, { variant: 0, batch: 1 });
  expect(atoms.reduce((sum, { probability }) => sum + probability, 0)).toBeCloseTo(1, 12);
  const mean = atoms.reduce((sum, { ms, probability }) => sum + ms * probability, 0);
  expect(mean).toBeCloseTo(0.5 * 7 + 0.45 * 15 + 0.04 * 25 + 0.01 * 31.25, 12);
  expect(atoms.map(({ ms }) => ms)).toEqual([...atoms.map(({ ms }) => ms)].sort((a, b) => a - b));
});

test("shortest-queue-first sends a crowded worker (λ/Kμ)^K·μ, or its share", () => {
  const options = { workerCount: 3, sloMs: 100, steps: 4, maxQueue: 2, accuracy: [0.5, 0.9] };
  const serviceMs = [
    [10, 12, 14],
    [40, 60, 80],
  ];
  // Both variants carry 0.02 queries per ms and worker, so μ is 1/40 per ms.
  const light = joinShortestQueue(workerProblem({ ...options, serviceMs, loadQps: 60 }));
  expect(light.workerCount).toBe(1);
  expect(light.arrivalRatePerMs).toBeCloseTo(0.02, 12);
  expect(light.crowdedRatePerMs).toBeCloseTo((0.02 * 40) ** 3 / 40, 12);
  // At 0.15 only the fast one, in batches of two, and λ/Kμ is 1.5.
  const heavy = joinShortestQueue(workerProblem({ ...options, serviceMs, loadQps: 450 }));
  expect(heavy.crowdedRatePerMs).toBeCloseTo(0.15, 12);
});

test("the dispersion of recorded arrivals is that of their process", () => {
  const arrivalMs = new Float64Array(200_000);
  for (const [cv2, tolerance] of [
    [1, 0.05],
    [4, 0.4],
  ] as const) {
    arrivalSource({ kind: "gamma", qps: 2000, cv2 }, new Rng(5, 0)).fill(arrivalMs);
    // The rate falls by half from the first to the last.
    const endMs = arrivalMs[arrivalMs.length - 1] ?? 0;
    const shifted = arrivalMs.map((ms) => ms * (1 + ms / (2 * endMs)));
    expect(Math.abs(dispersionOf(shifted, 150) - cv2)).toBeLessThan(tolerance);
  }
  expect(dispersionOf(Float64Array.of(0, 1), 150)).toBe(1);
  expect(arrivalCounts(2, 1).window(1).pmf[0]).toBeCloseTo(Math.exp(-2), 12);
});
