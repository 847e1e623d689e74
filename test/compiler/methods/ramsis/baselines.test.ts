import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import {
  type SimulateOptions,
  simulateCommand,
} from "../../../../compiler/commands/simulate/simulate.ts";
import { SINGLE_BASELINES } from "../../../../compiler/methods/ramsis/baselines.ts";
import { encodeBundle } from "../../../../runtime/bundles/checked-bundle.ts";
import type { CommandResult } from "../../../../runtime/commands/command-result.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";
import { tinyBundle } from "../../../support/tiny-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-baselines-"));
afterAll(() => rmSync(folder, { recursive: true }));
const bundle = join(folder, "tiny.msgpack");
writeFileSync(bundle, encodeBundle(tinyBundle({ workers: 2, loadsQps: [50] })));
const stages = join(folder, "stages.msgpack");
writeFileSync(
  stages,
  encodeBundle(
    inferlineBundle({
      tasks: [{ name: "only", latencyMs: { 1: 10 } }],
      levels: [{ loadQps: 10, stages: [[1, 1]] }],
    }),
  ),
);

function run(options: Partial<SimulateOptions>): Promise<CommandResult> {
  const { signal } = new AbortController();
  const watch = { jobs: 1, onProgress() {}, signal, nowMs: () => 0 };
  return simulateCommand(
    {
      bundle,
      arrivals: "poisson:50",
      duration: "5s",
      seed: "1",
      serviceTimes: "p95",
      ...options,
    },
    watch,
  );
}

const PEERS = SINGLE_BASELINES.slice(SINGLE_BASELINES.indexOf("proteus"));

describe("simulate --baseline of one task", () => {
  test("has every peer that there is", () => {
    expect(PEERS).toEqual([
      "proteus",
      "symphony",
      "slackfit",
      "slackfit-b",
      "clockwork",
      "nexus",
      "infaas",
      "maxacc",
      "maxbatch",
    ]);
  });

  test.each(PEERS)(
    "%s serves what the policy sees, and says with which parameters",
    async (name) => {
      const [policy, peer] = [await run({}), await run({ baseline: name })];
      const json = peer.json as Record<string, unknown> & { baseline: { parameters: object } };
      expect(json["queries"]).toBe((policy.json as Record<string, unknown>)["queries"]);
      expect(json.baseline).toMatchObject({ name, tuned: false });
      expect(Object.keys(json.baseline.parameters).length).toBeGreaterThan(0);
      expect(peer.text).toContain(`baseline ${name}: `);
      expect(peer.exitCode).toBe(0);
    },
  );

  test("names the parameters that hindsight has chosen", async () => {
    const { json, text } = await run({ baseline: "slackfit", tuned: true });
    expect((json as { baseline: object }).baseline).toMatchObject({
      name: "slackfit",
      tuned: true,
      parameters: { buckets: expect.any(Number), drop: expect.any(Boolean) },
    });
    expect(text).toContain("baseline slackfit, tuned in hindsight: buckets ");
  });

  test("names baselines without parameters, and the policy not at all", async () => {
    expect((await run({ baseline: "fixed:large" })).json).toMatchObject({
      baseline: { name: "fixed", tuned: false, parameters: { variant: "large" } },
    });
    expect((await run({ baseline: "greedy" })).json).toMatchObject({
      baseline: { name: "greedy", tuned: false, parameters: {} },
    });
    expect((await run({})).json).not.toHaveProperty("baseline");
  });

  test("refuses to tune where nothing can be", async () => {
    await expect(run({ tuned: true })).rejects.toThrow("--tuned needs a --baseline");
    for (const baseline of ["greedy", "fixed:large"]) {
      await expect(run({ baseline, tuned: true })).rejects.toThrow(
        /has nothing to tune; allowed with proteus, symphony, .*, maxbatch$/,
      );
    }
    await expect(run({ bundle: stages, baseline: "cg-mean", tuned: true })).rejects.toThrow(
      /baseline cg-mean has nothing to tune; allowed with kpa, hpa, keda, /,
    );
  });

  test("refuses a baseline of another method, and names what there is", async () => {
    await expect(run({ baseline: "cg-mean" })).rejects.toThrow(
      /this bundle has one task; expected one of fixed:VARIANT, greedy, .*, proteus, .*, maxbatch$/,
    );
    await expect(run({ bundle: stages, baseline: "symphony" })).rejects.toThrow(/symphony/);
  });
});
