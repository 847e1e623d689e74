/** Peers against what an independent simulator measured of them on the ImageNet profile. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { PeerName } from "../../compiler/methods/ramsis/simulate/baseline-names.ts";
import type { PeerParameters } from "../../compiler/methods/ramsis/simulate/peers/peer.ts";
import {
  paperSetting,
  simulatePeer,
  triedSettings,
} from "../../compiler/methods/ramsis/simulate/peers/simulate-peer.ts";
import { ramsisFrame } from "../../compiler/methods/ramsis/solve/frame.ts";
import { loadApplication } from "../../compiler/spec/load-application.ts";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";
import { Rng } from "../../runtime/core/rng.ts";
import { ofMethod } from "../support/of-method.ts";
import { tinyBundle } from "../support/tiny-bundle.ts";

const reference = process.env["STRATAGEM_REFERENCE"];
const folder = mkdtempSync(join(tmpdir(), "stratagem-peers-"));
afterAll(() => rmSync(folder, { recursive: true }));
const QUERIES = 100_000;

let bundle: RamsisBundle;
beforeAll(() => {
  if (reference === undefined) return;
  const spec = ["ramsis", "--workers", "60", "--slo", "150", "--loads", "400", "--out", folder];
  execFileSync(process.execPath, [join(reference, "apps.mjs"), ...spec]);
  const { application } = loadApplication(join(folder, "app.yaml"));
  const [level] = tinyBundle().levels;
  if (level === undefined) throw new Error("a bundle has a level");
  const frame = ramsisFrame(ofMethod("ramsis", application), new Map());
  bundle = { ...frame, levels: [level], provenance: { compiler: "test", inputs: [] } };
});

const MOBILENET = { variant: "mobilenet_v3_large" };

/** Load, peer, what is not its default, accuracy per query and violations, both in %. */
const MEASURED: readonly (readonly [number, PeerName, PeerParameters, number, number])[] = [
  [400, "symphony", {}, 84.23, 0],
  [3200, "symphony", { ...MOBILENET, controlMs: 0 }, 71.96, 1.4],
  [3600, "symphony", { ...MOBILENET, controlMs: 0 }, 64.25, 12],
  [2800, "clockwork", { ...MOBILENET, aheadMs: 0 }, 72.83, 0.2],
  [3200, "clockwork", { ...MOBILENET, aheadMs: 0 }, 71.05, 2.7],
  [3600, "clockwork", { ...MOBILENET, aheadMs: 0 }, 64.0, 12.3],
  [400, "proteus", {}, 80.55, 0],
  [1200, "proteus", {}, 77.3, 0],
  [2000, "proteus", {}, 74.06, 0],
  [2800, "proteus", {}, 69.51, 0],
  [3600, "proteus", {}, 55.86, 5],
  [2000, "proteus", { batchShare: 0.6, beta: 1 }, 75.06, 0.2],
  [400, "slackfit", {}, 73.0, 0],
  [2000, "slackfit", {}, 70.54, 0],
  [3600, "slackfit", {}, 59.05, 0],
  [400, "slackfit-b", {}, 84.18, 0],
  [3600, "slackfit-b", {}, 44.0, 24],
  [1200, "maxacc", {}, 77.07, 0],
  [2000, "maxacc", {}, 70.64, 0],
  [2800, "maxacc", {}, 55.37, 7.4],
  [3600, "maxacc", {}, 43.9, 24],
];

test.skipIf(reference === undefined).each(MEASURED)(
  "%i queries/s, %s %j: %d %% per query, %d %% late (skipped without STRATAGEM_REFERENCE)",
  (qps, name, wanted, accuracy, violations) => {
    const arrivals = { kind: "poisson", qps } as const;
    const keys = Object.entries(wanted);
    const setting =
      keys.length === 0
        ? paperSetting(bundle, name, arrivals)
        : triedSettings(bundle, name, arrivals).find(
            ({ parameters }) =>
              keys.every(([key, value]) => parameters[key] === value) &&
              parameters["sharedQueues"] !== false,
          );
    if (setting === undefined) throw new Error("the setting is tried");
    const outcome = simulatePeer(bundle, setting, {
      arrivals,
      durationMs: (1000 * QUERIES) / qps,
      serviceTimes: "p95",
      arrivalRng: new Rng(1, 1),
      serviceRng: new Rng(1, 2),
    });
    // Both simulated for a minute or so; near capacity the means of such runs differ by a few
    // tenths of a point.
    expect(Math.abs(100 * (outcome.accuracyPerQuery ?? 0) - accuracy)).toBeLessThan(0.45);
    expect(Math.abs(100 * outcome.violationRate - violations)).toBeLessThan(0.5);
  },
);
