import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  type SimulateOptions,
  simulateCommand,
} from "../../../../compiler/commands/simulate/simulate.ts";
import { ACCORDION_BASELINES } from "../../../../compiler/methods/accordion/baselines.ts";
import { simulateAccordion } from "../../../../compiler/methods/accordion/simulate/simulate.ts";
import { simulateAccordionCommand } from "../../../../compiler/methods/accordion/simulate-command.ts";
import type { AskedRun } from "../../../../compiler/methods/method.ts";
import { encodeBundle } from "../../../../runtime/bundles/checked-bundle.ts";
import type { CommandResult } from "../../../../runtime/commands/command-result.ts";
import { accordionBundle } from "../../../support/accordion-bundle.ts";

const BUNDLE = accordionBundle();
const OPTIONS: AskedRun = {
  arrivals: { kind: "poisson", qps: 30 },
  durationMs: 10_000,
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
  test("has the keys of the contract and what the level is expected to give", () => {
    const { json, exitCode } = simulateAccordionCommand(BUNDLE, OPTIONS, null, watch());
    expect(exitCode).toBe(0);
    expect(json).toMatchObject({
      seed: 1,
      durationMs: 10_000,
      scheduler: "accordion",
      wallMs: 500,
      expected: BUNDLE.levels[1]?.expected,
      timeline: null,
    });
    const { queries, satisfied, late, dropped, queriesPerWallSecond } = json as Record<
      string,
      number
    >;
    expect((satisfied ?? 0) + (late ?? 0) + (dropped ?? 0)).toBe(queries);
    expect(queriesPerWallSecond).toBe(2 * (queries ?? 0));
    expect(Object.keys(json as object)).toEqual(
      expect.arrayContaining([
        "violationRate",
        "accuracyPerSatisfied",
        "accuracyPerQuery",
        "latencyMs",
        "byVariant",
        "byPriority",
        "bySize",
        "occupancy",
        "activeQueries",
        "shrinks",
        "grows",
        "instancesRedone",
        "makespanMs",
        "throughputQps",
      ]),
    );
    expect(json).not.toHaveProperty("latencyMsByQuery");
  });

  test("as text says what was served, how busy the places were, and what it cost to change", () => {
    const { text } = simulateAccordionCommand(BUNDLE, OPTIONS, null, watch());
    const { queries, instances, occupancy, shrinks } = simulateAccordion(BUNDLE, OPTIONS);
    expect(text).toContain(`${queries} queries of ${instances} instances in 10 s, seed 1:`);
    expect(text).toContain(`${shrinks} shrinks, 0 growths;`);
    expect(text).toContain("expected at 40 qps");
    const busy = `${(100 * occupancy).toFixed(3)}%`.replace(".", "\\.");
    expect(text).toMatch(new RegExp(`^places busy +${busy} +40\\.000%$`, "m"));
    expect(text).toMatch(/^reconfigurations\/query +[\d.]+ +0\.1$/m);
    expect(text).toMatch(/^high +\d+ /m);
    expect(text).toMatch(/^places needed +high priority +violations +low priority +violations$/m);
    expect(text).toMatch(/^ +1 +\d+ +[\d.]+% +\d+ +[\d.]+%$/m);
    expect(text).toMatch(/^small +\d+ +[\d.]+ +\d+ +\d+ +80\.000%$/m);
  });

  test("of a trace has no expectation, and of an empty one no latency", () => {
    const trace = { kind: "arrivals", arrivalMs: new Float64Array(0) } as const;
    const arrivals = { kind: "trace", trace } as const;
    const { json, text } = simulateAccordionCommand(
      BUNDLE,
      { ...OPTIONS, arrivals },
      null,
      watch(),
    );
    expect(json).not.toHaveProperty("expected");
    expect(json).toMatchObject({ queries: 0, latencyMs: null, violationRate: 0 });
    expect(text).toContain("no query was served");
    expect(text).toMatch(/^latency ms p50 +-$/m);
  });
});

describe("baselines", () => {
  test.each(ACCORDION_BASELINES)(
    "%s has the bundle's table and queries, and no expectation",
    (name) => {
      const { json } = simulateAccordionCommand(BUNDLE, OPTIONS, { name }, watch());
      const own = simulateAccordion(BUNDLE, OPTIONS);
      expect(json).toMatchObject({
        scheduler: name,
        queries: own.queries,
        instances: own.instances,
        reconfigurations: 0,
      });
      expect(json).not.toHaveProperty("expected");
    },
  );

  test("queries of one stage have one place each", () => {
    const { json } = simulateAccordionCommand(BUNDLE, OPTIONS, { name: "one-stage" }, watch());
    const { occupancy, activeQueries } = json as {
      occupancy: number;
      activeQueries: { mean: number };
    };
    expect(activeQueries.mean).toBeCloseTo(8 * occupancy, 9);
  });

  test.each(["cg-mean", "greedy"])("of other methods, as %o, are refused", (baseline) => {
    expect(() => simulateAccordionCommand(BUNDLE, OPTIONS, { name: baseline }, watch())).toThrow(
      expect.objectContaining({
        code: "RUNTIME_USAGE",
        message: expect.stringMatching(
          /--baseline (cg-mean|greedy) is not for .* slo-conforming, fastest, bbs, one-stage/,
        ),
      }),
    );
  });
});

test("refuses sampled service times without quantiles", () => {
  const options = { ...OPTIONS, serviceTimes: "sampled" } as const;
  expect(() => simulateAccordionCommand(BUNDLE, options, null, watch())).toThrow(
    expect.objectContaining({
      code: "INPUT_CONFLICT",
      message: expect.stringMatching(
        /sampled service times need .* measured stages or of the whole model/,
      ),
    }),
  );
});

describe("the command", () => {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-simulate-places-"));
  const path = join(folder, "places.msgpack");
  writeFileSync(path, encodeBundle(BUNDLE));
  afterAll(() => rmSync(folder, { recursive: true }));
  const options: SimulateOptions = {
    bundle: path,
    arrivals: "poisson:30",
    duration: "10s",
    seed: "1",
    serviceTimes: "p95",
  };
  const run = (more: Partial<SimulateOptions>) =>
    simulateCommand(
      { ...options, ...more },
      { ...watch(), jobs: 1, onProgress: () => undefined, signal: new AbortController().signal },
    );

  /** What the command says besides. */
  const told = ({ text, json, ...others }: CommandResult, adapts = true) => ({
    ...others,
    text: `${text}\n\nlatencies without serving path and contention (not profiled)`,
    json: {
      ...json,
      adapts,
      machine: null,
      serviceTimes: "p95",
      latenciesWithout: ["serving path", "contention"],
    },
  });

  test("simulates a bundle of malleable pipelines, and its baselines", async () => {
    const own = simulateAccordionCommand(BUNDLE, OPTIONS, null, watch());
    expect(await run({})).toEqual(told(own));
    const fastest = simulateAccordionCommand(BUNDLE, OPTIONS, { name: "fastest" }, watch());
    expect(await run({ baseline: "fastest" })).toEqual(told(fastest, false));
  });

  test.each(["proteus", "fa2", "fixed:small"])(
    "refuses the baseline %s for it",
    async (baseline) => {
      await expect(run({ baseline })).rejects.toThrow(/is not for a bundle of method accordion/);
    },
  );

  test.each([
    [
      "image-classification",
      /is for a bundle of method accordion, and this one is of method ramsis/,
    ],
    ["scenes", /is for a bundle of method accordion, and this one is of method loki/],
    ["cascade", /is not for a bundle of method inferline/],
    ["scaling", /is not for a bundle of method themis/],
  ])("refuses its baselines for %s", async (policy, message) => {
    const bundle = join("policies", policy, "bundle.msgpack");
    await expect(run({ bundle, baseline: "bbs" })).rejects.toThrow(message);
  });

  test("names its baselines for an unknown name", async () => {
    await expect(run({ baseline: "fastes" })).rejects.toThrow(
      "for malleable pipelines one of slo-conforming, fastest, bbs, one-stage",
    );
  });
});
