/** Bundles that are planned with the way through the server, on a machine that has one. */
import { expect, test } from "vitest";
import { methodOf } from "../../../compiler/methods/registry.ts";
import type { Bundle, Level } from "../../../runtime/bundle/schema.ts";
import { violationCeiling } from "../../../runtime/bundle/schema.ts";
import { servingPathText } from "../../../runtime/tell/serving-path.ts";
import { SERVING, servedBundle } from "../../support/served-application.ts";

/** What each level promises at worst, as simulations with the stations have it. */
async function promisedRates(bundle: Bundle): Promise<number[]> {
  const method = await methodOf(bundle);
  const levels: readonly Level[] = bundle.levels;
  return levels.map((level) => method.worstViolationRate(level));
}

const CASES = [{ method: "ramsis", machine: { loads: [150] } }] as const;

for (const { method, machine } of CASES) {
  test(`${method} keeps the ceiling with a plan for the path, and breaks it without`, async () => {
    const planned = await servedBundle(method, machine);
    const without = await servedBundle(method, { ...machine, hops: "0 ms" });
    const ceiling = violationCeiling(planned.slo);
    const [kept, broken] = [await promisedRates(planned), await promisedRates(without)];
    expect(Math.max(...kept)).toBeLessThanOrEqual(ceiling);
    expect(Math.max(...broken)).toBeGreaterThan(ceiling);
    expect(planned.cluster.serving?.marginMs).toBeGreaterThan(0);
    expect(without.cluster.serving?.marginMs).toBe(0);
    // What is promised is recomputed from the bundle alone.
    const found = await methodOf(planned);
    const [level] = planned.levels;
    if (level === undefined) throw new Error("a bundle has a level");
    const again = found.promised(found.frameOf(planned), level);
    expect(again).toEqual(found.stated(level));
    void [SERVING, servingPathText];
  });
}
