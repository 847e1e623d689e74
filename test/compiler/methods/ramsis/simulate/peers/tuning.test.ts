import { expect, test } from "vitest";
import type { PeerSetting } from "../../../../../../compiler/methods/ramsis/simulate/peers/peer.ts";
import {
  PEERS,
  type Trial,
  tune,
} from "../../../../../../compiler/methods/ramsis/simulate/peers/peers.ts";
import { simulatedAs } from "../../../../../support/beaten.ts";
import { tinyCluster } from "../../../../../support/peer-driver.ts";
import { tinyBundle } from "../../../../../support/tiny-bundle.ts";

function settingNamed(name: string): PeerSetting {
  return { parameters: { name }, open: PEERS.maxacc.paper(tinyCluster()).open };
}

function trial(accuracyPerQuery: number | null, violationRate = 0): Trial {
  return { accuracyPerQuery, violationRate };
}

test("the best settings of a first sample get a second one, which decides", () => {
  const looks: Record<string, [Trial, Trial]> = {
    a: [trial(0.5), trial(0.9)],
    b: [trial(0.8), trial(0.6)],
    c: [trial(0.7), trial(0.7, 0.2)],
    d: [trial(0.6), trial(0.7, 0.1)],
    e: [trial(null), trial(1)],
    f: [trial(0.55), trial(0.5)],
  };
  const asked: string[] = [];
  const measured = tune(Object.keys(looks).map(settingNamed), ({ parameters }, round) => {
    asked.push(`${parameters["name"]}${round}`);
    return looks[String(parameters["name"])]?.[round] ?? trial(0);
  });
  // Accuracy per query first, then the fewest violations. What a first look leaves out is never
  // seen again, however good.
  expect(measured.map(({ setting }) => setting.parameters["name"])).toEqual(["d", "c", "b"]);
  expect(asked.slice(6)).toEqual(["b1", "c1", "d1"]);
});

test("a tie goes to the setting that is named first, and a single one is looked at once", () => {
  const settings = ["a", "b"].map(settingNamed);
  const [best] = tune(settings, () => trial(0.5));
  expect(best?.setting.parameters).toEqual({ name: "a" });
  let looks = 0;
  tune(settings.slice(0, 1), () => {
    looks++;
    return trial(0.5);
  });
  expect(looks).toBe(1);
});

test("hindsight gives a peer the variant that the load is best served with", () => {
  const run = (qps: number, tuned: boolean) =>
    simulatedAs({ kind: "nexus", tuned }, tinyBundle({ workers: 2, loadsQps: [qps] }), {
      arrivals: { kind: "poisson", qps },
      durationMs: 20_000,
      seed: 5,
      serviceTimes: "p95",
    });
  // At 47 queries a second, two workers lose some with the large variant, 25 each, and still do
  // better than with the small one.
  const [paper, tuned] = [run(47, false), run(47, true)];
  expect(paper.baseline).toEqual({
    name: "nexus",
    tuned: false,
    parameters: { variant: "large", batch: 1 },
  });
  expect(tuned.baseline).toMatchObject({ tuned: true, parameters: { variant: "large", batch: 3 } });
  expect(tuned.queries).toBe(paper.queries);
  expect(tuned.accuracyPerQuery ?? 0).toBeGreaterThan(paper.accuracyPerQuery ?? 1);
  expect(run(150, true).baseline).toMatchObject({ parameters: { variant: "small" } });
});

test("tuning uses other arrivals than the recorded ones", () => {
  const arrivalMs = Float64Array.from({ length: 400 }, (_, index) => 12.5 * index);
  const result = simulatedAs({ kind: "maxbatch", tuned: true }, tinyBundle({ loadsQps: [80] }), {
    arrivals: { kind: "trace", trace: { kind: "arrivals", arrivalMs } },
    durationMs: 5000,
    seed: 1,
    serviceTimes: "p95",
  });
  expect(result).toMatchObject({ queries: 400, baseline: { name: "maxbatch", tuned: true } });
});
