/** Pipelines on the machine that serves: what requests pass, and what replicas take from others. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { simulateInferline } from "../../../../../compiler/methods/inferline/simulate/simulate.ts";
import { inferlineBundle } from "../../../../support/inferline-bundle.ts";
import { at, latencies, OPTIONS } from "../../../../support/inferline-latencies.ts";
import { randomInferlineBundle } from "../../../../support/inferline-random.ts";
import { always, CROWDED, onMachine, PATH, servingPath } from "../../../../support/serving-path.ts";

const CHAIN = inferlineBundle({
  tasks: [
    { name: "a", latencyMs: { 1: 10 } },
    { name: "b", from: { a: 1 }, latencyMs: { 1: 5 } },
  ],
  levels: [
    {
      loadQps: 50,
      stages: [
        [1, 3],
        [1, 3],
      ],
    },
  ],
});

const rounded = (ms: readonly number[]) => ms.map((one) => Math.round(one * 1e9) / 1e9);

describe("a request", () => {
  test("that is alone takes the sum of all that it passes, each once", () => {
    const wakes = 3 * 0.25;
    // There, taken up, two batches computed, the last taken back, answered, and back.
    const sum = 2 + 2 + 10 + 5 + 1 + 0.5 + 2 + wakes;
    expect(rounded(latencies(onMachine(CHAIN, PATH), at([0, 100])))).toEqual([sum, sum]);
  });

  test("waits for those before it to be taken up, one after the other", () => {
    const bundle = onMachine(CHAIN, servingPath({ requestMs: always(2) }));
    expect(rounded(latencies(bundle, at([0, 0, 0])))).toEqual([17, 19, 21]);
  });

  test("waits for the answers that were written before its own", () => {
    const bundle = onMachine(CHAIN, servingPath({ answerMs: always(0.5) }));
    expect(rounded(latencies(bundle, at([0, 0, 0])))).toEqual([15.5, 16, 16.5]);
  });

  test("is late by what its client sees", () => {
    const { slo } = CHAIN;
    const lateOf = (latencyMs: number) => {
      const bundle = { ...onMachine(CHAIN, PATH), slo: { ...slo, latencyMs } };
      return simulateInferline(bundle, { ...OPTIONS, arrivals: at([0]) }).late;
    };
    expect([lateOf(23.2), lateOf(23.3)]).toEqual([1, 0]);
  });
});

describe("replicas", () => {
  const ONE = inferlineBundle({
    tasks: [{ name: "a", latencyMs: { 1: 10 } }],
    levels: [{ loadQps: 50, stages: [[1, 2]] }],
  });

  test("that share a processor take twice as long, and as long as ever where each has one", () => {
    const on = (processors: number) =>
      rounded(latencies(onMachine(ONE, servingPath({ processors })), at([0, 0])));
    // They take turns of 4 ms.
    expect(on(1)).toEqual([18, 20]);
    expect(on(2)).toEqual([10, 10]);
  });

  test("are slowed by neighbours, unless contention is left out", () => {
    const bundle = onMachine(ONE, servingPath({ processors: 1 }));
    const took = (neighbours: number) => {
      return Math.max(...latencies(bundle, at([0, 0]), { stations: { neighbours } }));
    };
    expect([took(0), took(0.5) > took(0)]).toEqual([20, true]);
    const without = { stations: { contention: false } };
    expect(latencies(bundle, at([0, 0]), without)).toEqual([10, 10]);
  });

  test("without path and contention are what they are where nothing is known, to the bit", () => {
    const arrivals = { kind: "gamma", qps: 150, cv2: 4 } as const;
    const stations = { path: false, contention: false };
    expect(
      simulateInferline(onMachine(CHAIN, CROWDED), { ...OPTIONS, arrivals, stations }),
    ).toEqual(simulateInferline(CHAIN, { ...OPTIONS, arrivals }));
  });
});

test("every request ends once, whatever it passes, and the same seed gives the same", () => {
  fc.assert(
    fc.property(fc.nat(10_000), fc.constantFrom(20, 150), (seed, qps) => {
      const bundle = onMachine(randomInferlineBundle(seed), CROWDED);
      const arrivals = { kind: "poisson", qps } as const;
      const options = { ...OPTIONS, arrivals, seed, durationMs: 2000, timeline: true } as const;
      const result = simulateInferline(bundle, options);
      const { queries, satisfied, late, dropped, timeline, latencyMsByRequest } = result;
      expect([satisfied + late, dropped]).toEqual([queries, 0]);
      const leastMs = CROWDED.wireMs.p50 / 2;
      expect(latencyMsByRequest?.every((ms) => ms >= leastMs)).toBe(true);
      const total = (key: "requests" | "violations") =>
        (timeline ?? []).reduce((sum, second) => sum + second[key], 0);
      expect([total("requests"), total("violations")]).toEqual([queries, late]);
      expect(simulateInferline(bundle, options)).toEqual(result);
    }),
    { numRuns: 40 },
  );
});
