import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";
import { refusedHere } from "../support/compile-here.ts";
import type { CliRun } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-scaling-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Spec {
  slo: Record<string, unknown>;
  workload: { arrivals: Record<string, unknown>; loads: unknown };
  cluster: Record<string, unknown>;
  policy: Record<string, unknown>;
}

function spec(): Spec & Record<string, unknown> {
  const variants = (name: string) => [{ name, accuracy: 0.9, profile: `profile.json#${name}` }];
  return {
    version: 1,
    application: "scaling",
    slo: { latency: "250 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [10, 40, 120] },
    cluster: { pools: [{ name: "cores", hardware: "cpu", workers: 8, cores: 4 }] },
    tasks: [
      {
        name: "see",
        variants: variants("see"),
        to: [{ task: "name", share: 0.5 }, { task: "tell" }],
      },
      { name: "name", variants: variants("name"), to: [{ task: "tell" }] },
      { name: "tell", variants: variants("tell") },
    ],
    policy: { method: "themis", maxBatch: 8, maxCores: 4 },
  };
}

const FITS = {
  see: { fit: { gamma: 20, epsilon: 10, delta: 1, eta: 4 } },
  name: { byCores: { 1: { 1: 14, 2: 25, 4: 46 }, 2: { 1: 9, 2: 15, 4: 26 } } },
  tell: { fit: { gamma: 5, epsilon: 2, delta: 0.5, eta: 1 } },
};

function write(
  name: string,
  change: (one: Spec) => void = () => {},
  variants: Record<string, unknown> = FITS,
): string {
  const document = spec();
  change(document);
  const profile = { format: "latency-profile/1", hardware: "cpu", variants };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(document));
  return path;
}

const bundle = join(folder, "scaling.msgpack");
let compiled: CliRun;
beforeAll(async () => {
  compiled = await stratagemHere("compile", write("scaling"), "-o", bundle, "--json");
});

describe("scaling on the command line", () => {
  test("compiles all three plans of every load, and what random requests make of them", () => {
    expect(compiled.status).toBe(0);
    const { method, levels } = JSON.parse(compiled.stdout);
    expect(method).toBe("themis");
    expect(levels.map((level: { loadQps: number }) => level.loadQps)).toEqual([10, 40, 120]);
    for (const { plan, feasible, expected, solve } of levels) {
      expect(feasible).toBe(true);
      expect(expected.violationRate).toBeLessThanOrEqual(0.01);
      expect(solve.status).toBe("optimal");
      expect(plan.joint.cores).toBeLessThanOrEqual(plan.horizontal?.cores ?? Infinity);
      expect(plan.joint.cores).toBeLessThanOrEqual(plan.vertical?.cores ?? Infinity);
      for (const { task, batch, cores, instances } of plan.horizontal.stages) {
        expect(["see", "name", "tell"]).toContain(task);
        expect(batch).toBeGreaterThan(0);
        expect(cores).toBe(1);
        expect(instances).toBeGreaterThan(0);
      }
    }
  });

  test("tells a plan, what a burst makes of it, and its fit error point by point", async () => {
    const level = await stratagemHere("inspect", bundle, "--level", "40");
    expect(level.status).toBe(0);
    expect(level.stdout).toMatch(/when more than 40 qps come at once, its instances go to:/);
    const { stdout } = await stratagemHere("inspect", bundle);
    expect(stdout).toMatch(/fit error over 6 points: mean [\d.]+%, worst [\d.]+%/);
    expect(stdout).toMatch(/batch +cores +measured ms +fitted ms +error/);
  });

  test("simulates it beside what other systems do", async () => {
    const own = await stratagemHere("simulate", bundle, "--arrivals", "poisson:40", "--json");
    expect(JSON.parse(own.stdout).expected.violationRate).toBeLessThanOrEqual(0.01);
    const fa2 = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:40",
      "--baseline",
      "fa2",
      "--json",
    );
    expect(JSON.parse(fa2.stdout)).toMatchObject({ scaling: { bursts: 0 } });
    for (const name of ["kpa", "hpa", "keda", "ray-serve", "dynamo", "infaas"]) {
      const told = await stratagemHere(
        ...["simulate", bundle, "--arrivals", "poisson:40", "--duration", "20s"],
        ...["--baseline", name, "--tuned", "--json"],
      );
      expect(JSON.parse(told.stdout)).toMatchObject({ baseline: { name, tuned: true } });
    }
    const untuned = await stratagemHere(
      ...["simulate", bundle, "--arrivals", "poisson:40", "--baseline", "fa2", "--tuned"],
    );
    expect(untuned).toMatchObject({ status: 64 });
    expect(untuned.stderr).toContain("baseline fa2 has nothing to tune; allowed with kpa, hpa,");
    const other = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:40",
      "--baseline",
      "proteus",
    );
    expect(other).toMatchObject({ status: 64 });
    expect(other.stderr).toContain("expected one of fa2, sponge, themis");
  });
});

describe("what cannot be planned is refused with one message, and nothing is written", () => {
  const falling = { ...FITS, see: { fit: { gamma: 20, epsilon: 10, delta: -30, eta: 4 } } };
  test.each<[string, (one: Spec) => void, Record<string, unknown>, RegExp]>([
    [
      "a fit that goes negative",
      () => {},
      falling,
      /profile\.json#see has a fit with -?[\d.]+ ms for a batch of 8 on/,
    ],
    [
      "an SLO that nothing meets",
      (one) => {
        one.slo["latency"] = "20 ms";
      },
      FITS,
      /slo\.latency: expected at least the [\d.]+ ms .*"see" takes most of it, 12\.5 ms; got 20 ms/,
    ],
    [
      "no batch",
      (one) => {
        one.policy["maxBatch"] = 0;
      },
      FITS,
      /policy\.maxBatch: .*got 0/,
    ],
    [
      "no cores",
      (one) => {
        one.policy["maxCores"] = 0;
      },
      FITS,
      /policy\.maxCores: .*got 0/,
    ],
    [
      "no load",
      (one) => {
        one.workload.loads = [0, 10];
      },
      FITS,
      /workload\.loads\[0\]: .*got 0/,
    ],
    [
      "too few cores",
      (one) => {
        one.cluster["pools"] = [{ name: "cores", hardware: "cpu", workers: 1, cores: 2 }];
      },
      FITS,
      /cluster: expected at least 3 cores/,
    ],
  ])("%s", async (name, change, variants, message) => {
    const out = join(folder, "refused.msgpack");
    const run = await refusedHere(write(name.replaceAll(" ", "-"), change, variants), out);
    expect(run.stderr).toMatch(message);
    expect(run.stderr).not.toMatch(/\n\s+at /);
    expect(run.status).toBe(65);
    expect(existsSync(out)).toBe(false);
  });
});
