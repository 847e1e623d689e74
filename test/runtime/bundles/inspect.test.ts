import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { inspectBundle } from "../../../runtime/bundles/inspect.ts";
import { parseState } from "../../../runtime/describe/asked-state.ts";
import { mapPolicy } from "../../../runtime/methods/ramsis/describe/policy-map.ts";
import { inspectState } from "../../../runtime/methods/ramsis/describe/state-view.ts";
import { sampleBundle } from "../../support/sample-bundle.ts";

const bundle = sampleBundle();

test("reports a bundle with a section per table", () => {
  const inspection = inspectBundle(bundle, { byteCount: 2633, sha256: "ab" });
  expect(inspection).toMatchObject({
    formatVersion: 1,
    application: "sample",
    method: "ramsis",
    bytes: 2633,
    sha256: "ab",
    provenance: bundle.provenance,
  });
  expect(inspection.tasks[0]).toMatchObject({ variants: [{ batch1Ms: 13 }, { batch1Ms: 36 }] });
  expect(inspection.levels[0]).toEqual({
    loadQps: 40,
    feasible: true,
    missed: [],
    capacityQps: 444.4,
    expected: bundle.levels[0]?.expected,
    solve: { ms: null, method: "greedy", iterations: 1, residual: 1e-9, states: 35 },
  });
  expect(inspection.sections.map(({ name }) => name)).toEqual([
    "tasks[0].serviceTimes.decisionMs",
    "tasks[0].serviceTimes.quantiles.p50Ms",
    "tasks[0].serviceTimes.quantiles.p95Ms",
    "tasks[0].serviceTimes.quantiles.p99Ms",
    "tasks[0].serviceTimes.quantiles.meanMs",
    "decisionSpace.slackMs",
    "decisionSpace.actions",
    "levels[0].actionByState",
    "levels[1].actionByState",
  ]);
  const slacks = Buffer.alloc(56);
  [0, 20, 40, 60, 80, 100, 120].forEach((ms, step) => {
    slacks.writeDoubleLE(ms, 8 * step);
  });
  expect(inspection.sections[5]).toEqual({
    name: "decisionSpace.slackMs",
    dtype: "float64",
    shape: [7],
    bytes: 56,
    sha256: createHash("sha256").update(slacks).digest("hex"),
  });
});

test("explains a decision by what else could have been done", () => {
  expect(inspectState(bundle, { loadQps: 40, queued: 3, slackMs: 85 })).toEqual({
    queued: 3,
    slackMs: 85,
    level: { index: 0, loadQps: 40 },
    tableState: { queued: 3, slackMs: 80 },
    decision: { variant: "lärge", batch: 3, serviceMs: 68, accuracy: 0.75, meetsSlack: true },
    alternatives: [
      { variant: "small", batch: 3, serviceMs: 29, accuracy: 0.6, meetsSlack: true },
      { variant: "lärge", batch: 3, serviceMs: 68, accuracy: 0.75, meetsSlack: true },
    ],
    withOneMoreQueued: {
      variant: "small",
      batch: 4,
      serviceMs: 37,
      accuracy: 0.6,
      meetsSlack: true,
    },
    withOneSlackStepLess: {
      variant: "small",
      batch: 3,
      serviceMs: 29,
      accuracy: 0.6,
      meetsSlack: true,
      slackMs: 60,
    },
  });
});

test("a full queue and a late query are answered at the edge of the table", () => {
  const state = inspectState(bundle, { loadQps: 40, queued: 900, slackMs: -3 });
  expect(state.tableState).toEqual({ queued: 5, slackMs: 0 });
  expect(state.decision).toMatchObject({ variant: "small", batch: 5, meetsSlack: false });
  expect(state.withOneSlackStepLess).toBeNull();
});

test("maps a policy, thinned out to the size that is asked for", () => {
  expect(mapPolicy(bundle, 0, [40, 20])).toEqual({
    queued: [1, 2, 3, 4, 5],
    slackMs: [0, 20, 40, 60, 80, 100, 120],
    variantByState: [
      [0, 0, 1, 1, 1, 1, 1],
      [0, 0, 0, 1, 1, 1, 1],
      [0, 0, 0, 0, 1, 1, 1],
      [0, 0, 0, 0, 0, 1, 1],
      [0, 0, 0, 0, 0, 1, 1],
    ],
  });
  expect(mapPolicy(bundle, 0, [3, 2])).toEqual({
    queued: [1, 3, 5],
    slackMs: [0, 120],
    variantByState: [
      [0, 1],
      [0, 1],
      [0, 1],
    ],
  });
});

test.each([
  ["queued=7,slack=40ms", 7, 40],
  ["slack=0.04s, queued=7", 7, 40],
  ["queued=1,slack=40.5", 1, 40.5],
  ["queued=1,slack=-3 ms", 1, -3],
])("reads the state %s", (text, queued, slackMs) => {
  expect(parseState(text)).toEqual({ queued, slackMs });
});

test.each([
  ["", 'expected queued=COUNT,slack=TIME, got ""'],
  ["queued=7", 'expected slack a time such as 40ms or 0.04s, got slack=""'],
  ["slack=40ms", 'expected queued an integer from 1, got queued=""'],
  ["queued=0,slack=40ms", 'got queued="0"'],
  ["queued=1.5,slack=40ms", 'got queued="1.5"'],
  ["queued=7,slack=40min", 'got slack="40min"'],
  ["queued=7,slack=40ms,load=3", 'got "load=3"'],
  ["queued=7,queued=8,slack=40ms", 'got "queued=8"'],
  ["queued=7=8,slack=40ms", 'got "queued=7=8"'],
])("refuses the state %j", (text, message) => {
  const refusal = { code: "RUNTIME_USAGE", message: expect.stringContaining(message) };
  expect(() => parseState(text)).toThrow(expect.objectContaining(refusal));
});
