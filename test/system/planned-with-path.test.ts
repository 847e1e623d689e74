/** Bundles planned with the way through the server keep what those planned without it break. */
import { expect, test } from "vitest";
import { methodOf } from "../../compiler/methods/registry.ts";
import { type Bundle, type Level, violationCeiling } from "../../runtime/bundle/schema.ts";
import { expectQueueTimes } from "../support/promised-times.ts";
import { SERVING, servedBundle } from "../support/served-application.ts";

/** The worst that a level promises, simulated with the stations and service times as measured. */
async function worstRate(bundle: Bundle): Promise<number> {
  const method = await methodOf(bundle);
  const levels: readonly Level[] = bundle.levels;
  return Math.max(...levels.map((level) => method.worstViolationRate(level)));
}

/** Room for all workers, so that what a plan has to count with is mostly the path. */
const CALM = { ...SERVING, processors: 8, contention: [1, 1.1, 1.2, 1.3] };
const CASES = [
  ["ramsis", { loads: [200], slo: "16 ms" }],
  ["loki", { serving: CALM, loads: [60], slo: "40 ms" }],
  ["inferline", { serving: CALM, loads: [100], slo: "17 ms", workers: 6 }],
  ["themis", { serving: CALM, loads: [100], slo: "22 ms", workers: 6 }],
] as const;

test.each([...CASES, ["accordion", { loads: [60] }] as const])(
  "%s states queue times, which verification reproduces",
  async (method, machine) => {
    await expectQueueTimes(await servedBundle(method, machine));
  },
);

for (const [method, machine] of CASES) {
  test(`${method} keeps the ceiling with a plan for the path, and breaks it without`, async () => {
    const planned = await servedBundle(method, machine);
    const without = await servedBundle(method, { ...machine, hops: "0 ms" });
    const ceiling = violationCeiling(planned.slo);
    expect(await worstRate(planned)).toBeLessThanOrEqual(ceiling);
    expect(await worstRate(without)).toBeGreaterThan(ceiling);
    expect(planned.cluster.serving?.marginMs).toBeGreaterThan(3);
    expect(without.cluster.serving?.marginMs).toBe(0);
    // Whoever verifies computes the promise again, from the bundle alone.
    const [level] = planned.levels;
    if (level === undefined) throw new TypeError("a bundle has a level");
    const found = await methodOf(planned);
    const stated = JSON.parse(JSON.stringify(found.stated(level)), (name, value) => {
      // What is promised at other paces is simulated with all levels.
      return name === "byPace" || name === "headroom" ? undefined : value;
    });
    const promised = found.promised(found.frameOf(planned), planned, 0);
    expect(found.stated(promised)).toMatchObject(stated);
  });
}
