/** Promises in the document of the live page: one verdict, and what is promised now. */
import { expect, test } from "vitest";
import { liveApplication } from "../../../../runtime/features/live-page/live-application.ts";
import type { Application } from "../../../../runtime/server/applications/application.ts";
import type { ServerState } from "../../../../runtime/server/applications/server-state.ts";
import type { PromiseState } from "../../../../runtime/server/measures/facts.ts";
import type { Reading } from "../../../../runtime/server/measures/watched.ts";
import { servedBundle } from "../../server/harness.ts";

const PROMISED = { feasible: true, violationRate: 0.000012, accuracyPerSatisfied: 0.971 };

function documentOf(reading: Partial<Reading>, promises: readonly PromiseState[] = []) {
  const bundle = servedBundle();
  const seen = { loadQps: 50, topLevelQps: 100, promised: PROMISED, ...reading };
  const endpoint = { bundle, metricLines: () => [], watched: { reading: () => seen } };
  const application = { endpoint, promises: () => promises } as unknown as Application;
  const state = { models: [], isApplicationReady: () => true } as unknown as ServerState;
  return liveApplication(state, application);
}

test("what is promised is what the watched promises are judged by, at any pace", () => {
  expect(documentOf({ pace: 2.5 }).promised).toEqual({ accuracy: 0.971, violationRate: 0.000012 });
});

test.each([
  ["above the highest level", { loadQps: 101 }],
  ["before a decision", { promised: undefined }],
  ["by a level that is not feasible", { promised: { ...PROMISED, feasible: false } }],
])("nothing is promised %s", (_, reading) => {
  expect(documentOf(reading).promised).toEqual({ accuracy: null, violationRate: null });
});

test("a promise holds, is in doubt, or is broken, and says one of them", () => {
  const state = (holds: boolean, evidence: number, because = ""): PromiseState => {
    return { promise: "arrivals", holds, evidence, because };
  };
  const because = "rows within 100 ms vary 2.0x as much as Poisson arrivals since 12:00:00 UTC";
  const { promises } = documentOf({}, [
    state(true, 0.1),
    state(true, 0.999),
    state(false, 1, because),
  ]);
  expect(promises.map(({ text, isDoubted }) => [text, isDoubted])).toEqual([
    ["✓ arrivals: holds", false],
    ["≈ arrivals: holds so far, with 99 % of the evidence that would break it", true],
    [`✗ arrivals: broken, ${because}`, false],
  ]);
});
