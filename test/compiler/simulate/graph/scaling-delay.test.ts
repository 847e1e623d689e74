/** Autoscalers between a decision and its replicas: when they act, and whether plans hold. */
import { describe, expect, test } from "vitest";
import { simulateInferline } from "../../../../compiler/methods/inferline/simulate/simulate.ts";
import { simulateThemis } from "../../../../compiler/methods/themis/simulate/simulate.ts";
import {
  HPA_DELAY,
  KEDA_DELAY,
  longestDelayMs,
  parseScalerDelay,
  ScalerClock,
  scalerDelayText,
} from "../../../../compiler/simulate/graph/scaler-clock.ts";
import { scalingWarnings } from "../../../../compiler/simulate/graph/scaling-steps.ts";
import { stratagemHere } from "../../../support/cli-here.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";
import { themisBundle } from "../../../support/themis-bundle.ts";

const seeds = Array.from({ length: 200 }, (_, seed) => seed);

describe("an autoscaler", () => {
  test.each([
    ["hpa", HPA_DELAY, 7500],
    ["keda", KEDA_DELAY, 22_500],
    ["keda:10s", { syncMs: 15_000, pollingMs: 10_000 }, 12_500],
  ])(
    "%s acts after what is decided, and on average as late as its looks say",
    (text, delay, mean) => {
      expect(parseScalerDelay(text)).toEqual(delay);
      const waits = seeds.map((seed) => new ScalerClock(delay, seed).actsMs(100_000) - 100_000);
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...waits)).toBeLessThanOrEqual(longestDelayMs(delay));
      // Uniform waits: the standard error of 200 of them is below 3 % of the longest.
      const error = 0.03 * longestDelayMs(delay);
      expect(Math.abs(waits.reduce((sum, wait) => sum + wait, 0) / 200 - mean)).toBeLessThan(
        3 * error,
      );
    },
  );

  test("acts at once on all decisions between two polls", () => {
    const clock = new ScalerClock(HPA_DELAY, 3);
    const firstMs = clock.actsMs(0);
    expect(clock.actsMs(firstMs)).toBe(firstMs);
    expect(clock.actsMs(firstMs + 1) - firstMs).toBeCloseTo(15_000, 6);
    expect(clock.actsMs(firstMs + 14_999) - firstMs).toBeCloseTo(15_000, 6);
  });

  test("that there is not acts at once", () => {
    expect(new ScalerClock(null, 1).actsMs(1234)).toBe(1234);
    expect(["", "none", "keda:0s", "keda:s", "30s"].map(parseScalerDelay)).toEqual(
      Array(5).fill(null),
    );
    expect(scalerDelayText(KEDA_DELAY)).toBe("KEDA at 30 s polling");
  });
});

/** One replica carries 100 a second; the load grows eightfold, and the tuner asks at once. */
const GROWING = inferlineBundle({
  tasks: [{ name: "a", latencyMs: { 1: 10 } }],
  levels: [level(50, 1), level(400, 6)],
  workers: [12],
  policy: { tuner: "relative", activationMs: 1000 },
});

function level(loadQps: number, replicas: number) {
  const envelope: [number, number][] = [
    [1000, 1.2 * loadQps],
    [60_000, 63 * loadQps],
  ];
  return { loadQps, stages: [[1, replicas] as [number, number]], peakQps: 1.2 * loadQps, envelope };
}

test("replicas that an autoscaler starts come later, and more requests are late meanwhile", () => {
  const rateWith = (scalerDelay: typeof KEDA_DELAY | undefined) =>
    simulateInferline(GROWING, {
      arrivals: {
        kind: "trace",
        trace: {
          kind: "rates",
          startMs: Float64Array.of(0, 60_000),
          qps: Float64Array.of(50, 400),
          endMs: 180_000,
        },
      },
      durationMs: 180_000,
      seed: 1,
      serviceTimes: "p95",
      scalerDelay,
    });
  const prompt = rateWith(undefined);
  const delayed = rateWith(KEDA_DELAY);
  expect(delayed.queries).toBe(prompt.queries);
  expect(delayed.violationRate).toBeGreaterThan(prompt.violationRate + 0.1);
  // The decisions are the same core's; only when their replicas come differs.
  expect(delayed.servers.max).toBe(prompt.servers.max);
});

describe("compile says", () => {
  const ceiling = (ratio: number) => ({ ...GROWING.slo, maxViolationRate: ratio });
  const warned = (ratio: number, delay: typeof KEDA_DELAY | undefined) => {
    const bundle = { ...GROWING, slo: ceiling(ratio) };
    return scalingWarnings(bundle, delay, (options) => simulateInferline(bundle, options));
  };

  test("warns of levels between which a plan does not hold", () => {
    const [line = "none", ...more] = warned(0.05, KEDA_DELAY);
    expect(more).toEqual([]);
    expect(line).toMatch(/^levels 50 to 400 qps: with KEDA at 30 s polling the plan does not hold/);
  });

  test("nothing where it holds, where replicas start at once, and where neither would do", () => {
    expect(warned(0.9, KEDA_DELAY)).toEqual([]);
    expect(warned(0.05, undefined)).toEqual([]);
    expect(warned(0, KEDA_DELAY)).toEqual([]);
  });
});

test("of scaled tasks compile says the same: it holds at once, and not with KEDA", () => {
  const policy = { coldStartMs: 1000, scaling: "horizontal" } as const;
  const bundle = themisBundle({ workers: 8, policy, maxViolationRate: 0.01 });
  const warned = (delay: typeof KEDA_DELAY | undefined) =>
    scalingWarnings(bundle, delay, (options) => simulateThemis(bundle, options));
  expect(warned(undefined)).toEqual([]);
  expect(warned(KEDA_DELAY)).toEqual([
    expect.stringMatching(/^levels 20 to 60 qps: with KEDA at 30 s polling the plan does not hold/),
  ]);
});

test("simulate says whether the plan holds, and refuses whose workers stay", async () => {
  const bundle = "policies/ocr-inferline/bundle.msgpack";
  const options = ["--arrivals", "poisson:20", "--duration", "20s", "--scaling-delay"];
  const { status, stdout } = await stratagemHere("simulate", bundle, ...options, "keda:10s");
  expect(status).toBe(0);
  expect(stdout).toMatch(/with KEDA at 10 s polling replicas .* up to 25 s later: this plan /);
  expect(stdout).toMatch(/%; without delay it (holds|does not hold), /);
  const fixed = await stratagemHere(
    "simulate",
    "policies/letters/bundle.msgpack",
    ...options,
    "hpa",
  );
  expect(fixed.status).toBe(64);
  expect(fixed.stderr).toContain("method ramsis has a fixed number of workers");
  const unknown = await stratagemHere("simulate", bundle, ...options, "soon");
  expect(unknown.status).toBe(64);
  expect(unknown.stderr).toContain("hpa (polls every 15 s)");
});
