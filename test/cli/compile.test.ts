import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { stratagemHere, stratagemRuntimeHere } from "../support/cli-here.ts";
import { identityModel } from "../support/onnx-model.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

const PROFILE = {
  format: "latency-profile/1",
  hardware: "test",
  percentile: 95,
  variants: {
    small: { accuracy: 0.7, latencyMs: { 1: 10, 4: 22, 8: 38 } },
    large: { accuracy: 0.9, latencyMs: { 1: 40, 4: 120 } },
  },
};

/**
 * Writes a spec and its profile into a folder of their own.
 * @param change edits the spec before it is written.
 */
function writeApplication(name: string, change: (spec: Spec) => void = () => {}): string {
  const home = join(folder, name);
  mkdirSync(home);
  writeFileSync(join(home, "profile.json"), JSON.stringify(PROFILE));
  const spec: Spec = {
    version: 1,
    application: name,
    slo: { latency: "100 ms" },
    workload: { arrivals: { process: "poisson" }, loads: [50, 100, 150] },
    cluster: { workers: 4 },
    tasks: [
      {
        name: "classify",
        variants: [
          { name: "small", profile: "profile.json#small" },
          { name: "large", profile: "profile.json#large" },
        ],
      },
    ],
    policy: { method: "ramsis" },
  };
  change(spec);
  writeFileSync(join(home, "app.json"), JSON.stringify(spec, null, 2));
  return join(home, "app.json");
}

/**
 * Workers that each have a queue: their levels need no simulation, which most of the time is spent
 * on.
 */
function apart(spec: Spec): void {
  spec.policy["balancer"] = "round-robin";
  spec.policy["maxQueue"] = 4;
  spec.policy["discretization"] = { kind: "fixed", steps: 10 };
}

/** For what does not depend on how many levels there are. */
function oneLevelApart(spec: Spec): void {
  apart(spec);
  spec.workload.loads = [100];
}

interface Spec {
  [key: string]: unknown;
  slo: Record<string, unknown>;
  workload: { arrivals: Record<string, unknown>; loads: unknown; day?: string };
  cluster: Record<string, unknown>;
  tasks: { name: string; variants: Record<string, unknown>[] }[];
  policy: Record<string, unknown>;
}

describe("compile", () => {
  const app = writeApplication("plain");
  const out = join(folder, "plain.msgpack");

  test("reports each level as one JSON document, as a process", () => {
    const { status, stdout, stderr } = stratagem("compile", app, "-o", out, "--json");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const report = JSON.parse(stdout);
    expect(report).toMatchObject({
      bundle: { path: out, bytes: readFileSync(out).length, formatVersion: 1 },
      application: "plain",
      method: "ramsis",
    });
    expect(report.levels.map((level: { loadQps: number }) => level.loadQps)).toEqual([
      50, 100, 150,
    ]);
    for (const level of report.levels) {
      expect(level.feasible).toBe(true);
      expect(level.expected.accuracyPerQuery).toBeGreaterThan(0.5);
      expect(level.solve.ms).toBeGreaterThan(0);
      expect(level.solve.residual).toBeLessThanOrEqual(1e-10);
    }
  });

  test("writes the same bytes with any number of jobs", async () => {
    expect((await stratagemHere("compile", app, "-o", out, "--jobs", "1", "--check")).status).toBe(
      0,
    );
  });

  test("--check accepts what compile wrote, and ends with 2 where it would differ", async () => {
    const checked = writeApplication("checked", oneLevelApart);
    const written = join(folder, "checked.msgpack");
    expect((await stratagemHere("compile", checked, "-o", written)).status).toBe(0);
    const before = readFileSync(written);
    expect(await stratagemHere("compile", checked, "-o", written, "--check")).toMatchObject({
      status: 0,
    });
    const changed = writeApplication("changed", (spec) => {
      oneLevelApart(spec);
      spec["application"] = "checked";
      spec.slo["latency"] = "99 ms";
    });
    expect(await stratagemHere("compile", changed, "-o", written, "--check")).toMatchObject({
      status: 2,
    });
    expect(readFileSync(written).equals(before)).toBe(true);
    expect(
      (await stratagemHere("compile", checked, "-o", join(folder, "none"), "--check")).status,
    ).toBe(2);
  });

  describe("with levels to be placed by itself", () => {
    const adaptive = writeApplication("adaptive", (spec) => {
      spec.workload.loads = { from: 50, to: 500, maxAccuracyStep: "3%" };
      apart(spec);
    });
    const bundle = join(folder, "adaptive.msgpack");

    test("keeps neighbours less than the step apart, and says how", async () => {
      const { status, stdout } = await stratagemHere("compile", adaptive, "-o", bundle, "--json");
      expect(status).toBe(0);
      const { levels, placement } = JSON.parse(stdout);
      const loads = levels.map(({ loadQps }: { loadQps: number }) => loadQps);
      expect([loads[0], loads.at(-1)]).toEqual([50, 500]);
      expect(loads.length).toBeGreaterThan(5);
      for (const key of ["accuracyPerQuery", "accuracyPerSatisfied"]) {
        for (const [index, level] of levels.slice(1).entries()) {
          const step = level.expected[key] - levels[index].expected[key];
          expect(Math.abs(step)).toBeLessThan(0.03);
        }
      }
      expect(placement).toMatchObject({ maxAccuracyStep: 0.03, jumps: [] });
      expect(placement.solved).toBeGreaterThanOrEqual(loads.length);
    });

    test("places the same levels with any number of jobs, and they keep promises", async () => {
      const alone = join(folder, "adaptive-alone.msgpack");
      const text = (await stratagemHere("compile", adaptive, "-o", alone, "--jobs", "1")).stdout;
      expect(text).toMatch(/\d+ levels placed, of \d+ solved in \d rounds: neighbours differ/);
      expect(readFileSync(alone).equals(readFileSync(bundle))).toBe(true);
      expect((await stratagemHere("verify", bundle)).status).toBe(0);
      expect((await stratagemHere("gate", bundle, alone, "--show")).status).toBe(0);
    });
  });

  test("records the digest and tensors of the models a spec names", async () => {
    const withModel = writeApplication("with-model", (spec) => {
      oneLevelApart(spec);
      for (const variant of spec.tasks[0]?.variants ?? []) variant["model"] = "identity.onnx";
    });
    writeFileSync(join(folder, "with-model", "identity.onnx"), identityModel(3));
    const bundle = join(folder, "with-model.msgpack");
    expect((await stratagemHere("compile", withModel, "-o", bundle)).stderr).toBe("");
    writeFileSync(join(folder, "with-model", "identity.onnx"), "no model");
    const { status, stderr } = await stratagemHere("compile", withModel, "-o", bundle);
    expect(status).toBe(65);
    expect(stderr).toMatch(/INPUT_INVALID_VALUE .*identity\.onnx: expected an ONNX model/);
  });

  test("refuses a model whose tensors are not those of its siblings", async () => {
    const siblings = writeApplication("siblings", (spec) => {
      for (const [index, variant] of (spec.tasks[0]?.variants ?? []).entries()) {
        variant["model"] = `${index}.onnx`;
        writeFileSync(join(folder, "siblings", `${index}.onnx`), identityModel(3 + index));
      }
    });
    const { status, stderr } = await stratagemHere(
      "compile",
      siblings,
      "-o",
      join(folder, "x.msgpack"),
    );
    expect(status).toBe(65);
    expect(stderr).toMatch(
      /variants\[1\]\.model: .* inputs of "small", x float32\[-1, 3\]; 1\.onnx has .*\[-1, 4\]/,
    );
  });

  test("marks a level that no policy can carry and says how many are late", async () => {
    const overloaded = writeApplication("overloaded", (spec) => {
      spec.workload.loads = [100, 5000];
      apart(spec);
    });
    const { status, stdout } = await stratagemHere(
      "compile",
      overloaded,
      "-o",
      join(folder, "o.msgpack"),
    );
    expect(status).toBe(0);
    expect(stdout).toMatch(/level 5000 qps is not feasible: expected violations \d/);
  });

  test("tells of many levels in a row that are not feasible in one line", async () => {
    const overloaded = writeApplication("all-overloaded", (spec) => {
      spec.workload.loads = [100, 5000, 6000, 7000];
      apart(spec);
    });
    const { stdout } = await stratagemHere("compile", overloaded, "-o", join(folder, "a.msgpack"));
    expect(stdout.match(/not feasible/g)).toHaveLength(1);
    expect(stdout).toMatch(
      /3 levels, 5000 to 7000 qps, are not feasible: expected violations up to/,
    );
  });

  test("says at which level the violations exceed the ceiling", async () => {
    const strict = writeApplication("strict", (spec) => {
      spec.slo["maxViolationRate"] = "0.01%";
      spec.workload.loads = [800];
    });
    const { stdout } = await stratagemHere("compile", strict, "-o", join(folder, "s.msgpack"));
    expect(stdout).toMatch(
      /level 800 qps is not feasible: expected violations .*, allowed 0\.010%/,
    );
  });
});

describe("inspect --state", () => {
  const app = writeApplication("valued", (spec) => {
    apart(spec);
    spec.workload.loads = [150];
    spec.tasks[0]?.variants.push({ name: "medium", profile: "profile.json#medium" });
  });
  writeFileSync(
    join(folder, "valued", "profile.json"),
    JSON.stringify({
      ...PROFILE,
      variants: {
        ...PROFILE.variants,
        medium: { accuracy: 0.8, latencyMs: { 1: 20, 4: 60, 8: 110 } },
      },
    }),
  );
  const path = join(folder, "valued.msgpack");
  const options = ["inspect", path, "--level", "150", "--state", "queued=1,slack=99ms"];

  test("has something to inspect", async () => {
    expect(await stratagemHere("compile", app, "-o", path)).toMatchObject({
      status: 0,
      stderr: "",
    });
  });

  test("says what the choice and the runner-up are worth", async () => {
    const { status, stdout } = await stratagemHere(...options);
    expect(status).toBe(0);
    expect(stdout).toMatch(/ +answers now +later +in all$/m);
    expect(stdout).toMatch(/ 0 +0 +0 {2}chosen$/m);
    expect(stdout).toContain("right answers (a query counts with the accuracy of the variant");
  });

  test("has the values of all admissible choices as JSON, the table's first", async () => {
    const { state } = JSON.parse((await stratagemHere(...options, "--json")).stdout);
    const { variant, batch } = state.decision;
    expect(state.values.unit).toBe("queries");
    expect(state.values.actions).toHaveLength(3);
    expect(state.values.actions[0]).toEqual({ variant, batch, advantage: 0 });
  });

  test("takes a solver", async () => {
    const { status, stdout } = await stratagemRuntimeHere(...options);
    expect(status).toBe(0);
    expect(stdout).not.toContain("right answers");
    expect(
      JSON.parse((await stratagemRuntimeHere(...options, "--json")).stdout).state.values,
    ).toBeNull();
  });
});

describe("compile refuses", () => {
  const sound = writeApplication("sound", apart);

  test.each<[string, (spec: Spec) => void, RegExp]>([
    [
      "an unknown key",
      (spec) => {
        spec.cluster["worker"] = 3;
      },
      /INPUT_UNKNOWN_KEY .*app\.json:\d+ cluster\.worker: .*did you mean "workers"/,
    ],
    [
      "a method that the profile is not for",
      (spec) => {
        spec.policy = { method: "accordion" };
      },
      /app\.json:\d+ tasks\[0\]\.variants\[0\]\.profile: .* needs layers, or speedups/,
    ],
    [
      "a day of plans that have no cost over one",
      (spec) => {
        writeFileSync(join(folder, "day.csv"), "2\n1\n");
        spec.workload.day = "../day.csv";
      },
      /app\.json:\d+ workload\.day: plans of method ramsis have no cost over a day/,
    ],
    [
      "a step that takes too many levels",
      (spec) => {
        spec.workload.loads = { from: 50, to: 400, maxAccuracyStep: "0.0001%" };
        apart(spec);
      },
      /app\.json:\d+ workload\.loads\.maxAccuracyStep: expected .* at most 1000 levels/,
    ],
    [
      "a grid of absurd size",
      (spec) => {
        spec.policy["discretization"] = { kind: "fixed", steps: 10_000 };
        spec.policy["maxQueue"] = 4096;
      },
      /INPUT_INVALID_VALUE .*policy.*: expected at most 500000 states/,
    ],
  ])("%s", async (name, change, message) => {
    const app = writeApplication(name.replaceAll(" ", "-"), change);
    const out = join(folder, `${name}.msgpack`);
    const { status, stderr } = await stratagemHere("compile", app, "-o", out);
    expect(status).toBe(65);
    expect(stderr).toMatch(message);
    for (const line of stderr.trimEnd().split("\n")) expect(line).toMatch(/^INPUT_/);
    expect(readdirSync(folder)).not.toContain(`${name}.msgpack`);
  });

  test("tells all mistakes of a spec, and a screen of them where there are more", async () => {
    const few = writeApplication("few", (spec) => {
      spec.cluster["worker"] = 3;
      spec.policy["bathcing"] = "maximal";
    });
    const out = join(folder, "refused.msgpack");
    const told = await stratagemHere("compile", few, "-o", out, "--json");
    expect(told.stderr.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^INPUT_UNKNOWN_KEY .*app\.json:\d+ cluster\.worker: /),
      expect.stringMatching(/^INPUT_UNKNOWN_KEY .*app\.json:\d+ policy\.bathcing: /),
    ]);
    expect(JSON.parse(told.stdout)).toMatchObject({
      error: {
        code: "INPUT_UNKNOWN_KEY",
        others: [{ message: expect.stringContaining("policy.bathcing") }],
      },
    });
    const many = writeApplication("many", (spec) => {
      for (let index = 0; index < 25; index++) spec.cluster[`worker${index}`] = index;
    });
    const lines = (await stratagemHere("compile", many, "-o", out)).stderr.trimEnd().split("\n");
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe("and 5 more; --json prints all");
    const all = JSON.parse((await stratagemHere("compile", many, "-o", out, "--json")).stdout);
    expect(all.error.others).toHaveLength(24);
  });

  test.each(["a-file/x.msgpack", "no/such/folder/x.msgpack", "."])(
    "an output that cannot be written: %s",
    async (out) => {
      writeFileSync(join(folder, "a-file"), "");
      const { status, stderr } = await stratagemHere("compile", sound, "-o", join(folder, out));
      expect(status).toBe(65);
      expect(stderr).toMatch(/^COMPILER_UNWRITABLE .*expected a place that can be written, got: E/);
      expect(readdirSync(folder).filter((name) => name.includes("tmp"))).toEqual([]);
    },
  );

  test.each([
    [["compile", "-o", "x"], /missing required argument/],
    [["compile", "app.yaml"], /required option '-o, --out/],
    [["compile", "app.yaml", "-o", "x", "--jobs", "0"], /expected a number above 0/],
    [["compile", "app.yaml", "-o", "x", "--jobs", "1.5"], /expected a whole number/],
    [["compile", "app.yaml", "-o", "x", "--solver", "magic"], /Allowed choices are/],
    [["complie"], /unknown command.*\n?.*compile/],
  ])("usage %j with exit code 64", async (args, message) => {
    const { status, stderr } = await stratagemHere(...args);
    expect(status).toBe(64);
    expect(stderr).toMatch(message);
  });
});

test("an interrupted compile leaves nothing behind and ends with 130", async () => {
  const app = writeApplication("slow", (spec) => {
    spec.workload.loads = { from: 1, to: 400, step: 1 };
  });
  const home = join(folder, "slow-out");
  mkdirSync(home);
  const child = startStratagem("compile", app, "-o", join(home, "slow.msgpack"));
  // The process has installed its handlers once it has threads; until then a signal ends it all the
  // same.
  child.stderr?.resume();
  const exited = once(child, "exit");
  const poll = setInterval(() => child.kill("SIGINT"), 300);
  const [code, signal] = (await exited) as [number | null, string | null];
  clearInterval(poll);
  expect(code === 130 || signal === "SIGINT").toBe(true);
  expect(readdirSync(home)).toEqual([]);
});
