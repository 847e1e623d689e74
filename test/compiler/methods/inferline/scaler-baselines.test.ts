import { describe, expect, test } from "vitest";
import { simulateInferlineCommand } from "../../../../compiler/methods/inferline/simulate-command.ts";
import {
  SCALER_NAMES,
  type ScalerName,
} from "../../../../compiler/simulate/graph/scalers/scalers.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";

/** Batches of 10 ms: a replica carries 100 queries a second, and twice as many in twos. */
const BUNDLE = inferlineBundle({
  tasks: [
    { name: "detect", latencyMs: { 1: 10, 2: 10 } },
    { name: "read", from: { detect: 1 }, latencyMs: { 1: 10, 2: 10 } },
  ],
  levels: [
    {
      loadQps: 50,
      stages: [
        [1, 2],
        [1, 2],
      ],
    },
    {
      loadQps: 200,
      stages: [
        [2, 4],
        [2, 4],
      ],
    },
  ],
  sloMs: 100,
  workers: [20],
});

const RATES = {
  kind: "rates",
  startMs: Float64Array.of(0, 20_000),
  qps: Float64Array.of(40, 250),
  endMs: 120_000,
} as const;
const OPTIONS = {
  arrivals: { kind: "trace", trace: RATES },
  durationMs: 120_000,
  seed: 1,
  serviceTimes: "p95",
} as const;

interface Told {
  readonly costPerHour: number;
  readonly violationRate: number;
  readonly scaling: { readonly up: number };
  readonly servers: { readonly max: number };
  readonly baseline: {
    readonly name: string;
    readonly tuned: boolean;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly planQps: number;
  };
}

function run(name: ScalerName, tuned = false): Told & { readonly text: string } {
  let nowMs = 0;
  const watch = { nowMs: () => ++nowMs };
  const asked = { name, tuned };
  const { json, text } = simulateInferlineCommand(BUNDLE, OPTIONS, asked, watch);
  return { ...(json as Told), text };
}

describe("an autoscaler in place of the tuner", () => {
  test.each(SCALER_NAMES)("%s has replicas for the load, of the plan for the first", (name) => {
    const told = run(name);
    expect(told.baseline).toMatchObject({ name, tuned: false, planQps: 50 });
    expect(told.text).toContain(`baseline ${name}, on the plan for 50 qps: target `);
    expect(told.scaling.up).toBeGreaterThan(0);
    expect(told.servers.max).toBeLessThanOrEqual(20);
    expect(run(name)).toEqual(told);
  });

  test.each(["kpa", "infaas"] as const)(
    "%s that hindsight has tuned keeps the SLO at the least cost that it found",
    (name) => {
      const [shipped, tuned] = [run(name), run(name, true)];
      expect(tuned.baseline.tuned).toBe(true);
      expect(tuned.text).toContain(`baseline ${name}, tuned in hindsight, on the plan for `);
      expect(tuned.violationRate).toBeLessThanOrEqual(Math.max(0.01, shipped.violationRate));
      if (shipped.violationRate <= 0.01) {
        expect(tuned.costPerHour).toBeLessThanOrEqual(shipped.costPerHour);
      }
    },
  );
});
