/** What is sent before and between the runs of an application. */
import { expect, test } from "vitest";
import { planPoints, settlingMs } from "../../../compiler/truth/truth-plan.ts";

test("loads ascend, since Loki keeps the plan of a higher one", () => {
  const loads = planPoints([10, 40], 2, 7).map(({ loadQps }) => loadQps);
  expect(loads).toEqual([10, 10, 40, 40]);
});

test("after the warm-up the first load lasts longer than the ten beats of Loki", () => {
  expect(settlingMs({ latencyMs: 100 })).toBe(12_000);
  expect(settlingMs({ latencyMs: 250 })).toBe(30_000);
});

test("where that takes minutes nothing is sent that calls for a higher plan", () => {
  expect(settlingMs({ latencyMs: 10_000 })).toBeNull();
});
