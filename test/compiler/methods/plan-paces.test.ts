/** Promises on slower machines of methods whose plans are the same at every pace. */
import { describe, expect, test } from "vitest";
import { methodOf } from "../../../compiler/methods/registry.ts";
import { PACES } from "../../../compiler/model/paced-times.ts";
import type { Bundle, Level } from "../../../runtime/bundle/schema.ts";
import { pacePromisesOf } from "../../../runtime/describe/pace-promises.ts";
import { servedBundle } from "../../support/served-application.ts";

describe.each(["inferline", "themis", "accordion"] as const)("method %s", (name) => {
  const LOADS = { inferline: [120], themis: [100], accordion: [20] } as const;

  async function compiled(): Promise<{ bundle: Bundle; level: Level }> {
    const bundle = await servedBundle(name, { loads: LOADS[name] });
    const [level] = bundle.levels;
    return { bundle, level: level ?? expect.fail("a bundle has a level") };
  }

  test("states figures for each pace, which verification reproduces", async () => {
    const { bundle, level } = await compiled();
    const { byPace = [], headroom = 0 } = pacePromisesOf(level);
    expect(byPace.map(({ pace }) => pace)).toEqual([...PACES]);
    const [first, last] = [byPace[0], byPace.at(-1)];
    expect(last?.p50).toBeGreaterThan(1.2 * (first?.p50 ?? Number.NaN));
    expect(last?.violationRate).toBeGreaterThanOrEqual(first?.violationRate ?? Number.NaN);
    expect(headroom).toBeGreaterThanOrEqual(1);
    const { paces } = await methodOf(bundle);
    expect(PACES.map((pace) => paces?.promised(bundle, 0, pace))).toEqual(byPace);
  });

  test("has the headroom at which its promise breaks", async () => {
    const { bundle, level } = await compiled();
    const { headroom = 0 } = pacePromisesOf(level);
    const { paces } = await methodOf(bundle);
    const at = (pace: number) => paces?.promised(bundle, 0, pace).violationRate ?? Number.NaN;
    expect(at(headroom)).toBeLessThanOrEqual(0.02);
    if (headroom < 4) expect(at(headroom + 0.1)).toBeGreaterThan(0.02);
  });
});
