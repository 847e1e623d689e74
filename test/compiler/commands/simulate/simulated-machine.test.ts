/** How simulations say what machine they had, and what was promised of it. */
import { expect, test } from "vitest";
import {
  machineJson,
  machineText,
  promisedAtPace,
  promisedText,
} from "../../../../compiler/commands/simulate/simulated-machine.ts";
import {
  AS_PROFILED,
  type MachineState,
} from "../../../../compiler/simulate/serving/machine-state.ts";
import { sampleBundle } from "../../../support/sample-bundle.ts";

const SLOW = { share: 0.5, factor: 2, spellMs: 200 };
const ALL: MachineState = {
  pace: 1.5,
  slow: SLOW,
  workerPaces: new Map([[3, 2]]),
  lost: { workers: 4, atMs: 10_000 },
};

test("describes every difference of the machine from its profile", () => {
  expect(machineText({ ...AS_PROFILED, pace: 1.5, slow: SLOW }, true)).toBe(
    "machine: pace 1.5, slow 50 % of the time by 2 for 200 ms on average; the policy adapts",
  );
  expect(machineText(ALL, false)).toBe(
    "machine: pace 1.5, slow 50 % of the time by 2 for 200 ms on average, worker 3 at pace 2, " +
      "4 workers lost at 10 s; decisions do not adapt",
  );
  expect(machineText(AS_PROFILED, true)).toBe("machine: as profiled; the policy adapts");
});

test("the same as data, null for a machine as profiled", () => {
  expect(machineJson({ machine: ALL, adapts: false })).toEqual({
    machine: { ...ALL, workerPaces: { 3: 2 } },
    adapts: false,
  });
  expect(machineJson({ machine: undefined, adapts: true })).toEqual({
    machine: null,
    adapts: true,
  });
});

const FIGURES = { accuracyPerQuery: 0.7, violationRate: 0.01, p50: 20, p99: 80 };
const BUNDLE = {
  ...sampleBundle(),
  levels: sampleBundle().levels.map((level) => ({
    ...level,
    expected: { ...level.expected, byPace: [{ ...FIGURES, pace: 2 }] },
  })),
};
const LOAD = { kind: "poisson", qps: 30 } as const;

function atPace(pace: number, adapts = true) {
  return promisedAtPace(BUNDLE, LOAD, { machine: { ...AS_PROFILED, pace }, adapts });
}

function wordsAt(pace: number): string {
  const promised = atPace(pace);
  return promised === undefined ? "" : promisedText(promised);
}

test("the promise for a constant pace is that of the next higher pace that is stated", () => {
  const figures = "accuracy/query 70.000%, violations 1.000%, p50 20.0 ms, p99 80.0 ms";
  expect(wordsAt(2)).toBe(`expected at 40 qps and pace 2: ${figures}`);
  expect(wordsAt(1.3)).toBe(`expected at 40 qps and pace 1.3, promised for pace 2: ${figures}`);
  expect(wordsAt(2.5)).toBe("expected at 40 qps and pace 2.5: no promise for this pace");
});

test("nothing is promised of other machines, of traces, nor of what does not adapt", () => {
  expect(atPace(1)).toBeUndefined();
  expect(atPace(0.8)).toBeUndefined();
  expect(atPace(2, false)).toBeUndefined();
  const machine = { ...AS_PROFILED, pace: 2 };
  const slow = { machine: { ...machine, slow: SLOW }, adapts: true };
  expect(promisedAtPace(BUNDLE, LOAD, slow)).toBeUndefined();
  const older = sampleBundle();
  expect(promisedAtPace(older, LOAD, { machine, adapts: true })).toBeUndefined();
});
