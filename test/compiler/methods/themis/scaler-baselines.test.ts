import { describe, expect, test } from "vitest";
import { simulateThemisCommand } from "../../../../compiler/methods/themis/simulate-command.ts";
import {
  SCALER_NAMES,
  type ScalerName,
} from "../../../../compiler/simulate/graph/scalers/scalers.ts";
import { themisBundle } from "../../../support/themis-bundle.ts";

/** 16 machines of 4 cores. */
const BUNDLE = themisBundle({ workers: 16 });
const RATES = {
  kind: "rates",
  startMs: Float64Array.of(0, 20_000),
  qps: Float64Array.of(15, 100),
  endMs: 90_000,
} as const;
const OPTIONS = {
  arrivals: { kind: "trace", trace: RATES },
  durationMs: 90_000,
  seed: 1,
  serviceTimes: "p95",
} as const;

interface Told {
  readonly violationRate: number;
  readonly cores: { readonly mean: number; readonly max: number };
  readonly scaling: { readonly up: number; readonly resizes: number };
  readonly baseline: { readonly planQps: number };
}

async function run(name: ScalerName, tuned = false): Promise<Told & { readonly text: string }> {
  let nowMs = 0;
  const watch = { nowMs: () => ++nowMs };
  const { json, text } = await simulateThemisCommand(BUNDLE, OPTIONS, { name, tuned }, watch);
  return { ...(json as Told), text };
}

describe("an autoscaler in place of the controller", () => {
  test.each(SCALER_NAMES)("%s adds instances and never cores to one", async (name) => {
    const told = await run(name);
    expect(told.baseline).toMatchObject({ name, tuned: false, planQps: 20 });
    expect(told.text).toContain(`baseline ${name}, on the plan for 20 qps: target `);
    expect(told.scaling.resizes).toBe(0);
    expect(told.cores.max).toBeLessThanOrEqual(64);
    if (name !== "kpa") expect(told.scaling.up).toBeGreaterThan(0);
  });

  test.each(["hpa"] as const)("%s that hindsight has tuned violates less", async (name) => {
    const [shipped, tuned] = [await run(name), await run(name, true)];
    expect(tuned.violationRate).toBeLessThanOrEqual(Math.max(0.01, shipped.violationRate));
    expect(tuned.text).toContain(`baseline ${name}, tuned in hindsight, on the plan for `);
  });
});
