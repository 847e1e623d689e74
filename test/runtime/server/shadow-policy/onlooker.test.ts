import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { simulate } from "../../../../compiler/methods/ramsis/simulate/simulate.ts";
import type { RamsisBundle } from "../../../../runtime/bundle/schema.ts";
import { decisionSloMs } from "../../../../runtime/core/decision-slo.ts";
import type { RecordedEntry } from "../../../../runtime/server/decisions/recorded-entry.ts";
import { casesOf } from "../../../support/cases.ts";
import { lookOn, reportOf } from "../../../support/looked-on.ts";
import { waitingBundle } from "../../../support/pooled-bundle.ts";
import { tinyBundle } from "../../../support/tiny-bundle.ts";

const LOADS_QPS = [20, 100, 1000];
const bound = (workers: number) => tinyBundle({ workers, sloMs: 100, loadsQps: LOADS_QPS });

/** As a server records single rows that come. */
function arrivalsOf(bundle: RamsisBundle, arrivalMs: readonly number[]): RecordedEntry[] {
  const { cluster, slo } = bundle;
  return arrivalMs.map((nowMs, query) => {
    const deadlineMs = nowMs + decisionSloMs(cluster, slo.latencyMs);
    return { kind: "arrival", query, deadlineMs, nowMs };
  });
}

/** No two at the same time, and none at the end of a batch. */
const ARRIVALS = fc
  .array(fc.double({ min: 0.001, max: 60, noNaN: true }), { minLength: 1, maxLength: 300 })
  .map((gaps) => {
    let nowMs = 0;
    return gaps.map((gap) => {
      nowMs += gap + Math.E / 1000;
      return nowMs;
    });
  });

describe.each([
  ["a queue for each worker", bound],
  ["one queue for all", (workers: number) => waitingBundle(bound(workers))],
])("a bundle that looks on, with %s", (_, bundleOf) => {
  test("decides as its simulation does under the same arrivals", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), ARRIVALS, (workers, arrivalMs) => {
        const bundle = bundleOf(workers);
        const trace = { kind: "arrivals", arrivalMs: Float64Array.from(arrivalMs) } as const;
        const simulated = simulate(bundle, {
          arrivals: { kind: "trace", trace },
          durationMs: 1e6,
          seed: 1,
          serviceTimes: "p95",
        });
        const { shadow, fault } = reportOf(bundle, bundle, arrivalsOf(bundle, arrivalMs));
        expect(fault).toBeNull();
        expect(shadow.queries).toBe(simulated.queries);
        expect([shadow.late, shadow.dropped]).toEqual([simulated.late, simulated.dropped]);
        for (const { variant, batches, queries } of shadow.byVariant) {
          const own = simulated.byVariant[variant];
          expect([variant, batches, queries]).toEqual([variant, own?.batches, own?.queries]);
        }
      }),
      { numRuns: casesOf(200, 5) },
    );
  });
});

test("its decisions are its own bundle's, whatever serves", () => {
  const served = bound(1);
  const slower = { ...served, slo: { ...served.slo, latencyMs: 30 } };
  const [first] = served.tasks[0]?.variants ?? [];
  // With a third of the time there is the small variant alone, and less of the queue in time.
  const entries = arrivalsOf(served, [1, 2, 3, 4, 5, 6, 7, 8]);
  const report = reportOf(served, slower, entries);
  expect(report.shadow.byVariant[0]).toMatchObject({ variant: first?.name });
  expect(report.shadow.queries).toBe(8);
  expect(report.shadow.late + report.shadow.dropped).toBeGreaterThan(
    reportOf(served, served, entries).shadow.late,
  );
});

test("queries are compared with what the bundle that serves did with them", () => {
  const bundle = bound(1);
  const { policy, passTo } = lookOn(bundle, bundle);
  const [entry] = arrivalsOf(bundle, [10]);
  if (entry !== undefined) policy.record(entry);
  policy.record({ kind: "start-batch", worker: 0, variant: 0, level: 0, queries: [0] });
  policy.record({ kind: "done", worker: 0, nowMs: 25 });
  passTo(1000);
  const { compared, served, shadow } = policy.report();
  expect(served).toMatchObject({ queries: 1, late: 0, violationRate: 0 });
  expect(shadow).toMatchObject({ queries: 1, late: 0 });
  const chosen = shadow.byVariant.find(({ queries }) => queries === 1)?.variant;
  const small = bundle.tasks[0]?.variants[0]?.name;
  expect(compared.pairs).toEqual([{ served: small, shadow: chosen, queries: 1 }]);
  expect(compared.sameAnswerer).toBe(chosen === small ? 1 : 0);
});

test("the SLO and margin of the bundle that looks on are in its deadlines", () => {
  const served = bound(1);
  const patient = { ...served, slo: { ...served.slo, latencyMs: 10_000 } };
  const crowd = Array.from({ length: 4 }, (_, query) => 1 + query / 10);
  const entries = arrivalsOf(served, crowd);
  const { shadow } = reportOf(served, patient, entries);
  expect([shadow.late, shadow.dropped]).toEqual([0, 0]);
});

test("a client that goes takes its query along, if it waits", () => {
  const bundle = bound(1);
  const entries = arrivalsOf(bundle, [1, 2]);
  const gone = { kind: "cancel", query: 1, nowMs: 3 };
  expect(reportOf(bundle, bundle, entries).shadow.queries).toBe(2);
  expect(reportOf(bundle, bundle, [...entries, gone]).shadow.queries).toBe(1);
});

test("what runs on a worker that is lost is tried again", () => {
  const bundle = bound(2);
  const entries = arrivalsOf(bundle, [1]);
  const lost = [0, 1].map((worker) => ({ kind: "lost", worker, nowMs: 2 }));
  const back = { kind: "ready", worker: 0, nowMs: 3 };
  // Nobody is left for it where both are lost.
  const [one] = lost;
  const { shadow } = reportOf(bundle, bundle, [...entries, ...(one === undefined ? [] : [one])]);
  expect([shadow.queries, shadow.dropped]).toEqual([1, 0]);
  const none = reportOf(bundle, bundle, [...entries, ...lost, back]).shadow;
  expect([none.queries, none.dropped]).toEqual([1, 1]);
});

test("what cannot be told ends it, is told, and leaves the counts of what serves", () => {
  const bundle = bound(1);
  const { policy, notices, passTo } = lookOn(bundle, bundle);
  policy.record({ kind: "arrival", query: 0, nowMs: Number.NaN, deadlineMs: 1 });
  policy.record({ kind: "arrival", query: 1, nowMs: 5, deadlineMs: 100 });
  // Arrivals of the past are what its core refuses.
  policy.record({ kind: "joint-arrival", query: 2, nowMs: 1 });
  policy.record({ kind: "drop", worker: 0, query: 1, reason: 0 });
  passTo(1000);
  expect(policy.report().served.dropped).toBe(1);
  expect(policy.report().fault).not.toBeNull();
  expect(notices).toHaveLength(1);
  expect(notices[0]).toMatch(/^shadow.msgpack looks on no more, it failed: /);
});

test("once a minute it is told what it would have made of the minute", () => {
  const bundle = bound(1);
  const { policy, notices, passTo } = lookOn(bundle, bundle);
  for (const entry of arrivalsOf(bundle, [10, 200])) policy.record(entry);
  passTo(59_000);
  expect([notices, policy.report().lastMinute]).toEqual([[], null]);
  passTo(60_000);
  expect(notices).toEqual([expect.stringMatching(/^shadow.msgpack would have, .* of 2 queries/)]);
  expect(policy.report().lastMinute).toMatchObject({ shadow: { queries: 2 } });
  passTo(120_000);
  expect(notices).toHaveLength(1);
});
