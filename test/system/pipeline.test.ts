import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";
import type { CliRun } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-pipeline-"));
afterAll(() => rmSync(folder, { recursive: true }));

const PROFILE = {
  format: "latency-profile/1",
  hardware: "test",
  variants: {
    small: { accuracy: 0.7, latencyMs: { 1: 10, 4: 22 } },
    large: { accuracy: 0.9, latencyMs: { 1: 40, 4: 100 } },
  },
};

interface Spec {
  slo: { latency: string };
  workload: { arrivals: { process: string }; loads: unknown };
  policy: Record<string, unknown>;
  tasks: Record<string, unknown>[];
}

function writeSpec(name: string, change: (spec: Spec) => void = () => {}): string {
  const variants = (fanout?: number) =>
    ["small", "large"].map((variant) => ({
      name: variant,
      profile: `profile.json#${variant}`,
      ...(fanout === undefined ? {} : { fanout }),
    }));
  const spec = {
    version: 1,
    application: "pipeline",
    slo: { latency: "400 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [20, 60, 100, 1000] },
    cluster: { workers: 6 },
    tasks: [
      { name: "detect", variants: variants(1.5), to: [{ task: "identify" }] },
      { name: "identify", variants: variants() },
    ],
    policy: { method: "loki" },
  };
  change(spec);
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(spec));
  return path;
}

describe("a pipeline on the command line", () => {
  const bundle = join(folder, "pipeline.msgpack");
  let compiled: CliRun;

  beforeAll(async () => {
    writeFileSync(join(folder, "profile.json"), JSON.stringify(PROFILE));
    compiled = await stratagemHere("compile", writeSpec("pipeline"), "-o", bundle, "--json");
  });

  test("compiles to one plan for each load, with its proof, its cost and what to expect", () => {
    const { method, levels } = JSON.parse(compiled.stdout);
    expect(method).toBe("loki");
    expect(levels.map(({ loadQps }: { loadQps: number }) => loadQps)).toEqual([20, 60, 100, 1000]);
    const [low, , , beyond] = levels;
    expect(low).toMatchObject({
      feasible: true,
      plan: {
        step: "hardware",
        servers: 2,
        instances: [
          { task: "detect", variant: "large", pool: "default", replicas: 1, throughputQps: 40 },
          { task: "identify", variant: "large", replicas: 1 },
        ],
        paths: [{ variants: { detect: "large", identify: "large" }, ratio: 1 }],
        routing: { "": { detect: { large: 1 } }, large: { identify: { large: 1 } } },
      },
      transition: { modelLoadsFromBelow: null },
      solve: { status: "optimal", gap: 0 },
    });
    expect(low.plan.accuracy).toBeCloseTo(0.81, 12);
    expect(beyond).toMatchObject({ feasible: false, transition: { modelLoadsFromAbove: null } });
    // Two small detectors of 4 ÷ 22 ms; the three others take 1.5 queries for each request.
    expect(beyond.capacityQps).toBeCloseTo((2 * 4) / 0.022, 0);
    expect(beyond.plan.demandQps).toBeLessThan(beyond.capacityQps);
  });

  test("gives the same optimum with either solver of programs", async () => {
    const again = join(folder, "again.msgpack");
    const two = writeSpec("two", (spec) => {
      spec.workload.loads = [60, 1000];
    });
    const accuracies = (document: string): number[] =>
      JSON.parse(document).levels.map(({ plan }: { plan: { accuracy: number } }) => plan.accuracy);
    for (const solver of ["glpk", "highs"]) {
      const other = await stratagemHere(
        "compile",
        two,
        ...["-o", again, "--solver", solver, "--json"],
      );
      const [, at60, , beyond] = accuracies(compiled.stdout);
      const [own60, ownBeyond] = accuracies(other.stdout);
      expect(own60).toBeCloseTo(at60 ?? Number.NaN, 6);
      expect(ownBeyond).toBeCloseTo(beyond ?? Number.NaN, 6);
    }
  });

  test("can be inspected, as a whole and for one load; it has no states", async () => {
    const whole = await stratagemHere("inspect", bundle);
    expect(whole.stdout).toContain("task identify, after detect");
    const { tasks } = JSON.parse((await stratagemHere("inspect", bundle, "--json")).stdout);
    expect(tasks[0].variants[1].profiles).toMatchObject([
      { hardware: "test", variant: "large", batches: [1, 4], latencyMs: [40, 100] },
    ]);
    const level = await stratagemHere("inspect", bundle, "--level", "60");
    expect(level.stdout).toContain("level 60 qps:");
    expect(level.stdout).toMatch(/detect small → identify|detect large → identify/);
    const state = await stratagemHere("inspect", bundle, "--state", "queued=1,slack=40ms");
    expect(state.status).toBe(64);
    expect(state.stderr).toContain("RUNTIME_USAGE --state: expected a bundle that decides");
  });

  test("differs by its plans", async () => {
    const tighter = join(folder, "tighter.msgpack");
    const app = writeSpec("tighter", (spec) => {
      spec.slo.latency = "200 ms";
    });
    await stratagemHere("compile", app, "-o", tighter);
    const { status, stdout } = await stratagemHere("gate", bundle, tighter, "--show");
    expect(status).toBe(2);
    expect(stdout).toContain("slo.latencyMs: 400 → 200");
    expect(stdout).toMatch(/level 100 qps: another plan\n {2}/);
    expect((await stratagemHere("gate", bundle, bundle, "--show")).status).toBe(0);
  });

  test("is simulated, task by task", async () => {
    const run = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:60",
      "--duration",
      "20s",
      "--json",
    );
    const result = JSON.parse(run.stdout);
    expect(Object.keys(result.byTask)).toEqual(["detect", "identify"]);
    expect(result.servers.max).toBeLessThanOrEqual(6);
    expect(result.byTask.identify.queries).toBeLessThanOrEqual(2 * result.byTask.detect.queries);
  });

  test("refuses the baselines of single tasks, and solvers of other methods", async () => {
    const greedy = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:60",
      "--baseline",
      "greedy",
    );
    expect(greedy.status).toBe(64);
    expect(greedy.stderr).toContain("--baseline greedy is for a single task");
    const coarse = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:60",
      "--baseline",
      "cg-mean",
    );
    expect(coarse.status).toBe(64);
    expect(coarse.stderr).toContain(
      "--baseline cg-mean is for a bundle of method inferline, " +
        "and this one is of method loki; expected one of inferline, proteus",
    );
    const app = join(folder, "pipeline.json");
    const solver = await stratagemHere("compile", app, "-o", bundle, "--solver", "value-iteration");
    expect(solver.status).toBe(64);
    expect(solver.stderr).toContain("--solver: expected auto, glpk or highs for method loki");
  });

  test("places levels by accuracy and by servers", async () => {
    const app = writeSpec("placed", (spec) => {
      spec.workload.loads = { from: 5, to: 300, maxAccuracyStep: "5%" };
    });
    const { stdout } = await stratagemHere(
      ...["compile", app, "-o", join(folder, "placed.msgpack"), "--json"],
    );
    const { levels, placement } = JSON.parse(stdout);
    for (const [index, { plan, loadQps }] of levels.entries()) {
      const before = levels[index - 1];
      if (before === undefined) continue;
      const jump = placement.jumps.some(({ toQps }: { toQps: number }) => toQps === loadQps);
      if (!jump) expect(before.plan.accuracy - plan.accuracy).toBeLessThan(0.05);
      expect(plan.servers - before.plan.servers).toBeLessThanOrEqual(1);
    }
    expect(levels[0].plan.servers).toBe(2);
  });

  test("with headroom the plans hold the SLO when they are simulated", async () => {
    const app = writeSpec("roomy", (spec) => {
      spec.policy = { method: "loki", headroom: "auto" };
      spec.workload.loads = [20, 60, 100];
    });
    const { stdout } = await stratagemHere(
      ...["compile", app, "-o", join(folder, "roomy.msgpack"), "--json"],
    );
    const roomy = JSON.parse(stdout).levels;
    const tight = JSON.parse(compiled.stdout).levels;
    for (const [index, { expected, plan }] of roomy.entries()) {
      expect(expected.violationRate).toBeLessThanOrEqual(0.01);
      expect(plan.demandQps).toBeGreaterThanOrEqual(tight[index].plan.demandQps);
    }
    const most = (levels: { expected: { violationRate: number } }[]) =>
      Math.max(...levels.slice(0, 3).map(({ expected }) => expected.violationRate));
    expect(most(tight)).toBeGreaterThan(most(roomy));
  });

  test("takes the fan-outs that a server observed, and refuses those of others", async () => {
    const app = writeSpec("observed", (spec) => {
      spec.workload.loads = [20];
    });
    const observe = (lines: string): Promise<CliRun> => {
      writeFileSync(join(folder, "metrics.txt"), lines);
      const out = join(folder, "observed.msgpack");
      return stratagemHere(
        ...["compile", app, "-o", out, "--fanouts", join(folder, "metrics.txt"), "--json"],
      );
    };
    const line = (variant: string, value: string, model = "pipeline") =>
      `stratagem_fanout{model="${model}",task="detect",variant="${variant}",child="identify"} ` +
      value;
    // Another application of the same server has tasks of the same names.
    const other = line("small", "9", "other");
    const lines = ["# HELP", line("small", "3"), other, line("large", "NaN")];
    const { status } = await observe(lines.join("\n"));
    expect(status).toBe(0);
    const inspected = JSON.parse(
      (await stratagemHere("inspect", join(folder, "observed.msgpack"), "--json")).stdout,
    );
    const [detect] = inspected.tasks;
    expect(detect.variants.map(({ fanouts }: { fanouts: number[] }) => fanouts)).toEqual([
      [3],
      [1.5],
    ]);
    const paths = inspected.provenance.inputs.map(({ path }: { path: string }) => path);
    expect(paths).toContain("metrics.txt");
    for (const [text, message] of [
      [line("smal", "3"), ':1: "detect" has no variant "smal"; did you mean "small"?'],
      [line("small", "-1"), ":1: expected a fan-out of at least 0, got -1"],
      [other, ": expected the metrics of a pipeline server"],
      ["up 1", ": expected the metrics of a pipeline server"],
    ] as const) {
      const refused = await observe(text);
      expect(refused.status).toBe(65);
      expect(refused.stderr).toContain(message);
    }
  });

  test("says which leaf can never be reached in time", async () => {
    const app = writeSpec("late", (spec) => {
      spec.slo.latency = "30 ms";
    });
    const { status, stderr } = await stratagemHere(
      "compile",
      app,
      "-o",
      join(folder, "late.msgpack"),
    );
    expect(status).toBe(65);
    expect(stderr).toContain(
      'slo.latency: the leaf "identify" can never be reached in time: the fastest path, ' +
        "small ×1, small ×1, takes 20 ms, 5 ms more",
    );
  });
});
