/** Times that the first level of a bundle promises, and what holds of those of every method. */
import { expect } from "vitest";
import { methodOf } from "../../compiler/methods/registry.ts";
import type { Bundle, Level } from "../../runtime/bundle/schema.ts";
import { pacePromisesOf } from "../../runtime/describe/pace-promises.ts";

function timesOf(level: Level) {
  const { latencyMs, queueMs } = "steady" in level ? level.steady.expected : level.expected;
  if (latencyMs === undefined || queueMs === undefined) throw new Error("a level states times");
  return { latencyMs, queueMs };
}

/** Requests wait, no longer than they take, and verification finds the same times. */
export async function expectQueueTimes(bundle: Bundle): Promise<void> {
  const [level] = bundle.levels;
  if (level === undefined) throw new Error("a bundle has a level");
  const { latencyMs, queueMs } = timesOf(level);
  expect(queueMs.p50).toBeGreaterThanOrEqual(0);
  expect(queueMs.p99).toBeGreaterThanOrEqual(queueMs.p50);
  expect(queueMs.max).toBeGreaterThanOrEqual(queueMs.p99);
  expect(queueMs.max).toBeGreaterThan(0);
  expect(queueMs.p50).toBeLessThan(latencyMs.p50);
  expect(queueMs.p99).toBeLessThan(latencyMs.p99);
  expect(queueMs.max).toBeLessThan(latencyMs.max);
  const method = await methodOf(bundle);
  const again = method.promised(method.frameOf(bundle), bundle, 0);
  expect(timesOf(again)).toEqual({ latencyMs, queueMs });
  const { byPace = [] } = pacePromisesOf(level);
  for (const { p50, p99, queueMs: paced } of byPace) {
    if (p99 === 0) {
      // No request is served at this pace.
      expect(paced).toMatchObject({ p50: 0, p99: 0, max: 0 });
      continue;
    }
    expect(paced?.max).toBeGreaterThan(0);
    expect(paced?.p50).toBeLessThan(p50);
    expect(paced?.p99).toBeLessThan(p99);
  }
  expect(byPace.length).toBeGreaterThan(1);
}
