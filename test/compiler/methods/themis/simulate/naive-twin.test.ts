import fc from "fast-check";
import { expect, test } from "vitest";
import { simulateThemis } from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import { tossVisits } from "../../../../../compiler/simulate/graph/visits.ts";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { taskGraphOf } from "../../../../../runtime/core/graph/task-graph.ts";
import { naiveScaleLatencies } from "../../../../support/naive-themis.ts";
import { clusteredTimes, randomThemisBundle } from "../../../../support/themis-random-bundle.ts";

/** Latencies of every request by both simulations, a level being followed. */
function both(bundle: ThemisBundle, arrivalMs: Float64Array, seed: number) {
  const level = seed % bundle.levels.length;
  const takenByEdge = tossVisits(taskGraphOf(bundle), arrivalMs.length, seed);
  const trace = { arrivalMs, takenByEdge };
  const { latencyMsByRequest } = simulateThemis(bundle, {
    arrivals: { kind: "requests", trace },
    durationMs: 1000,
    seed,
    level,
    withLatencies: true,
  });
  return [[...(latencyMsByRequest ?? [])], naiveScaleLatencies(bundle, level, trace)] as const;
}

test("while nothing is dropped, the obvious twin has every latency to the last bit", () => {
  fc.assert(
    fc.property(
      randomThemisBundle({ dropAfterSlos: null }),
      clusteredTimes,
      fc.nat(1000),
      (bundle, arrivalMs, seed) => {
        const [simulated, naive] = both(bundle, arrivalMs, seed);
        expect(simulated).toEqual(naive);
      },
    ),
    { numRuns: 400 },
  );
});

test("and it drops the same requests when queries are given up", () => {
  let dropped = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(0.5, 1, 2).chain((dropAfterSlos) => randomThemisBundle({ dropAfterSlos })),
      clusteredTimes,
      fc.nat(1000),
      (bundle, arrivalMs, seed) => {
        const [simulated, naive] = both(bundle, arrivalMs, seed);
        expect(simulated).toEqual(naive);
        dropped += simulated.filter(Number.isNaN).length;
      },
    ),
    { numRuns: 400 },
  );
  expect(dropped).toBeGreaterThan(400);
});
