import { describe, expect, test } from "vitest";
import { simulateThemis } from "../../../../../compiler/methods/themis/simulate/simulate.ts";
import { themis } from "../../../../../compiler/methods/themis/solve/themis.ts";
import { themisMethod } from "../../../../../compiler/methods/themis/themis.ts";
import { AS_PROFILED } from "../../../../../compiler/simulate/serving/machine-state.ts";
import type { ThemisBundle } from "../../../../../runtime/bundle/schema.ts";
import { validateBundle } from "../../../../../runtime/bundles/checked-bundle.ts";
import { themisBundle } from "../../../../support/themis-bundle.ts";

const LOADS = [20, 40, 60, 80];

function compiled(): ThemisBundle {
  const sketch = { sloMs: 250, workers: 24, policy: { tickMs: 100, coldStartMs: 500 } };
  const { levels: _, transitions: __, provenance, ...frame } = themisBundle(sketch);
  const scaler = themis.open(frame);
  const levels = LOADS.map((loadQps) => scaler.scaleLevel(loadQps));
  return themisMethod.bundle(frame, levels, provenance);
}

describe("plans for slower machines", () => {
  const bundle = compiled();

  test("are above the highest level, ascending, and valid", () => {
    const { paceLevels = [] } = bundle;
    const profiledQps = paceLevels.map(({ loadQps, pace }) => loadQps * pace);
    expect(profiledQps.length).toBeGreaterThan(1);
    expect(profiledQps).toEqual([...profiledQps].sort((a, b) => a - b));
    expect(profiledQps[0]).toBeGreaterThan(80);
    expect(() => validateBundle(bundle)).not.toThrow();
    const [first] = paceLevels;
    const wrong = { ...bundle, paceLevels: first === undefined ? [] : [{ ...first, loadQps: 10 }] };
    expect(() => validateBundle(wrong)).toThrow(/paceLevels/);
  });

  for (const [qps, pace] of [
    [40, 1.5],
    [75, 1.75],
    [75, 2.5],
  ] as const) {
    test(`carry ${qps}/s at pace ${pace}, which the levels alone do not`, () => {
      const run = (adapts: boolean) =>
        simulateThemis(bundle, {
          arrivals: { kind: "poisson", qps },
          durationMs: 60_000,
          seed: 2,
          stations: { machine: { ...AS_PROFILED, pace } },
          adapts,
        });
      const [adapting, fixed] = [run(true), run(false)];
      // The first second is lost: until it is measured, and instances have come up.
      expect(adapting.violationRate).toBeLessThan(0.04);
      expect(adapting.violationRate).toBeLessThan(fixed.violationRate / 2 + 0.001);
    });
  }

  test("change nothing on a machine as profiled", () => {
    const run = (adapts: boolean) =>
      simulateThemis(bundle, {
        arrivals: { kind: "poisson", qps: 60 },
        durationMs: 20_000,
        seed: 2,
        adapts,
      });
    expect(run(true)).toEqual(run(false));
  });
});
