import { expect, test } from "vitest";
import {
  frontierSection,
  traceFrontier,
} from "../../../../../compiler/methods/ramsis/report/frontier.ts";
import type { RamsisFrame } from "../../../../../compiler/model/frames.ts";
import type { RamsisLevel } from "../../../../../runtime/bundle/schema.ts";
import { tinyBundle } from "../../../../support/tiny-bundle.ts";

const plain = tinyBundle({ loadsQps: [10] });
const bundle = { ...plain, slo: { ...plain.slo, maxViolationRate: 0.05 } };
const [level] = bundle.levels as [RamsisLevel];

/** A solver whose best policy is late for 2 % of the queries, and that pays accuracy for fewer. */
async function solve({ slo }: RamsisFrame, loadQps: number): Promise<RamsisLevel> {
  const violationRate = Math.min(0.02, slo.maxViolationRate ?? 1);
  const accuracyPerQuery = 0.8 + 0.02 * Math.log10(violationRate);
  return { ...level, loadQps, expected: { ...level.expected, accuracyPerQuery, violationRate } };
}

test("a frontier gives up accuracy for fewer violations, and skips idle ceilings", async () => {
  let solved = 0;
  const frontier = await traceFrontier(bundle, 10, (frame, loadQps) => {
    solved++;
    return solve(frame, loadQps);
  });
  const { points } = frontier;
  expect(points.map((point) => point.ceiling)).toEqual([0.1, 0.05, 0.01, 0.001, 1e-4]);
  // 5 %, which is the bundle's own, allows what 10 % gave.
  expect(solved).toBe(points.length - 1);
  expect(points[1]?.violationRate).toBe(0.02);
  expect(frontierSection(frontier).text).toContain("<svg");
});

test("where no ceiling changes the policy, a sentence says so instead of a figure", async () => {
  const frontier = await traceFrontier(bundle, 10, async () => level);
  const { text } = frontierSection(frontier);
  expect(text).not.toContain("<svg");
  expect(text).toContain("the same for every ceiling");
});
