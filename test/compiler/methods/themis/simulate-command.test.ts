import { describe, expect, test } from "vitest";
import type { AskedRun } from "../../../../compiler/methods/method.ts";
import { pollForecasts } from "../../../../compiler/methods/themis/poll-forecasts.ts";
import { simulateThemisCommand } from "../../../../compiler/methods/themis/simulate-command.ts";
import { themisBundle } from "../../../support/themis-bundle.ts";

const BUNDLE = themisBundle();
const OPTIONS: AskedRun = {
  arrivals: { kind: "poisson", qps: 40 },
  durationMs: 20_000,
  seed: 1,
  serviceTimes: "p95",
};

/** A clock that goes on by half a second with every look. */
function watch(): { nowMs: () => number } {
  let nowMs = 0;
  return {
    nowMs: () => {
      nowMs += 500;
      return nowMs;
    },
  };
}

describe("the answer", () => {
  test("has the keys of the contract and what the plan is expected to give", async () => {
    const { json, exitCode } = await simulateThemisCommand(BUNDLE, OPTIONS, null, watch());
    expect(exitCode).toBe(0);
    expect(json).toMatchObject({
      seed: 1,
      durationMs: 20_000,
      wallMs: 500,
      expected: BUNDLE.levels[1]?.steady.expected,
      timeline: null,
    });
    const { queries, satisfied, late, dropped, queriesPerWallSecond, cores, coreSeconds } =
      json as Record<string, number> & { cores: { mean: number } };
    expect((satisfied ?? 0) + (late ?? 0) + (dropped ?? 0)).toBe(queries);
    expect(queriesPerWallSecond).toBe(2 * (queries ?? 0));
    expect(coreSeconds).toBeCloseTo(20 * cores.mean, 9);
    expect(Object.keys(json as object)).toEqual(
      expect.arrayContaining([
        "violationRate",
        "accuracyPerSatisfied",
        "accuracyPerQuery",
        "latencyMs",
        "byVariant",
        "byTask",
        "servers",
        "scaling",
        "taskQueriesPerWallSecond",
      ]),
    );
    expect(json).not.toHaveProperty("latencyMsByRequest");
    expect(json).not.toHaveProperty("costPerHour");
  });

  test("as text says what was served, with how many cores, and how they changed", async () => {
    const arrivals = { kind: "poisson", qps: 10 } as const;
    const { text } = await simulateThemisCommand(BUNDLE, { ...OPTIONS, arrivals }, null, watch());
    expect(text).toContain("cores: mean 2.0, at most 2, 40 core-seconds; instances: mean 2.0");
    expect(text).toContain("0 started, 0 stopped, 0 resized; 0 bursts met, 0 plans settled on");
    expect(text).toContain("expected at 20 qps");
    expect(text).toMatch(/^cores +2 +2$/m);
    expect(text).toMatch(/^detect +\d+ +[\d.]+ +1\.00 +1 +1\.00 +1$/m);
  });

  test("says what the cores cost where machines have a price", async () => {
    const pools = BUNDLE.cluster.pools.map((pool) => ({ ...pool, pricePerHour: 2 }));
    const priced = { ...BUNDLE, cluster: { ...BUNDLE.cluster, pools } };
    const arrivals = { kind: "poisson", qps: 10 } as const;
    const { json, text } = await simulateThemisCommand(
      priced,
      { ...OPTIONS, arrivals },
      null,
      watch(),
    );
    // Two of the four cores of a machine.
    expect(json).toMatchObject({ costPerHour: 1 });
    expect(text).toMatch(/^cost\/hour +1 +1$/m);
  });

  test("of a trace has no expectation, and an empty one no latency", async () => {
    const trace = { kind: "arrivals", arrivalMs: new Float64Array(0) } as const;
    const arrivals = { kind: "trace", trace } as const;
    const { json, text } = await simulateThemisCommand(
      BUNDLE,
      { ...OPTIONS, arrivals },
      null,
      watch(),
    );
    expect(json).not.toHaveProperty("expected");
    expect(json).toMatchObject({ queries: 0, latencyMs: null, violationRate: 0 });
    expect(text).toContain("no request was served");
  });
});

test("refuses sampled service times without quantiles", async () => {
  const options = { ...OPTIONS, serviceTimes: "sampled" } as const;
  await expect(simulateThemisCommand(BUNDLE, options, null, watch())).rejects.toThrow(
    expect.objectContaining({
      code: "INPUT_CONFLICT",
      message: expect.stringMatching(/sampled service times need .* every batch in byCores/),
    }),
  );
});

test.each(["cg-mean", "greedy"])(
  "refuses the baseline %o, which is of other methods",
  async (baseline) => {
    await expect(
      simulateThemisCommand(BUNDLE, OPTIONS, { name: baseline, tuned: false }, watch()),
    ).rejects.toThrow(
      expect.objectContaining({
        code: "RUNTIME_USAGE",
        message: expect.stringMatching(/--baseline (cg-mean|greedy) is not for .* themis/),
      }),
    );
  },
);

test.each(["fa2", "sponge", "themis"])("%s is planned for the same loads", async (baseline) => {
  const { json } = await simulateThemisCommand(
    BUNDLE,
    OPTIONS,
    { name: baseline, tuned: false },
    watch(),
  );
  const own = await simulateThemisCommand(BUNDLE, OPTIONS, null, watch());
  expect(json).toMatchObject({ queries: (own.json as { queries: number }).queries });
  expect(json).not.toHaveProperty("expected");
  const { scaling, servers } = json as {
    scaling: { up: number; bursts: number };
    servers: { max: number };
  };
  if (baseline === "fa2") expect(scaling.bursts).toBe(0);
  if (baseline === "sponge") {
    expect(scaling.up).toBe(0);
    expect(servers.max).toBe(BUNDLE.tasks.length);
  }
});

test("a predictor that is a model foretells what the simulation will see", async () => {
  const policy = { ...BUNDLE.policy, predictor: "lstm" } as const;
  const foretold = await pollForecasts({ ...BUNDLE, policy }, OPTIONS);
  // A look a second from the first request on; of 20 s the last are after the end.
  expect(foretold?.length).toBe(19);
  expect(foretold?.every((qps) => qps > 0)).toBe(true);
  expect(await pollForecasts(BUNDLE, OPTIONS)).toBeUndefined();
  const { json } = await simulateThemisCommand({ ...BUNDLE, policy }, OPTIONS, null, watch());
  expect(json).toMatchObject({ durationMs: 20_000 });
});
