import { expect, test } from "vitest";
import { SharedDemand } from "../../../../runtime/core/graph/shared-demand.ts";
import type { LoadShare } from "../../../../runtime/core/load-share.ts";

const SHARE: LoadShare = { othersQps: 300, othersVariance: 100, workers: 2, allWorkers: 8 };

/** What is planned for in a share, where so much is seen here. */
function planned(share: LoadShare | null, seenQps: number, noiseQps = 5): [number, number] {
  const demand = new SharedDemand();
  if (share !== null) demand.follow(share);
  demand.look(seenQps, noiseQps);
  return [demand.qps, demand.noiseQps];
}

test("what is seen here is the demand, while nobody shares it or nobody is heard", () => {
  expect(planned(null, 100)).toEqual([100, 5]);
  expect(planned({ ...SHARE, othersQps: null }, 100)).toEqual([100, 5]);
  expect(planned({ ...SHARE, workers: 8 }, 100)).toEqual([100, 5]);
  expect(planned({ ...SHARE, workers: 0 }, 100)).toEqual([100, 5]);
  expect(planned(null, Number.NaN)).toEqual([Number.NaN, 5]);
});

test("each plans for its part of what all see, which is known better than its own", () => {
  // A quarter of 80 and 300, and of the deviation of both.
  expect(planned(SHARE, 80)).toEqual([95, Math.sqrt(125) / 4]);
  expect(planned(SHARE, 110)).toEqual([102.5, Math.sqrt(125) / 4]);
});

test("who has seen nothing yet plans for its part of what the others see", () => {
  expect(planned(SHARE, Number.NaN, Number.NaN)).toEqual([75, 2.5]);
  const quiet = { ...SHARE, othersQps: 0, othersVariance: 0 };
  expect(planned(quiet, Number.NaN, Number.NaN)).toEqual([Number.NaN, Number.NaN]);
});

test("where more comes here than to the others, that is planned for until it does no more", () => {
  const demand = new SharedDemand();
  demand.follow(SHARE);
  const at = (seenQps: number) => {
    demand.look(seenQps, 5);
    return demand.qps;
  };
  // Three deviations of the excess are 13.5, which 118 does not reach: an even part is 104.5.
  expect(at(117)).toBeCloseTo(104.25);
  expect(at(140)).toBe(140);
  expect(at(105)).toBe(105);
  expect(at(99)).toBeCloseTo(99.75);
  expect(at(105)).toBeCloseTo(101.25);
});
