/** `compile --require`, `compile --check` and `gate` as CI runs them. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { tinyBundle } from "../support/tiny-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-gate-"));
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

const SMALL_PROBLEM = {
  method: "ramsis",
  balancer: "round-robin",
  maxQueue: 4,
  discretization: { kind: "fixed", steps: 10 },
};

interface Change {
  readonly loads?: readonly number[];
  readonly latency?: string;
  readonly require?: readonly string[];
}

/** Workers that each have a queue, whose levels are solved at once. @returns path of the spec. */
function written(name: string, change: Change = {}): string {
  const { loads = [50, 100], latency = "100 ms" } = change;
  const home = join(folder, name);
  mkdirSync(home);
  const spec = {
    version: 1,
    application: "letters",
    slo: { latency, maxViolationRate: "2%" },
    workload: { arrivals: { process: "poisson" }, loads },
    cluster: { pools: [{ name: "cpu", workers: 4, pricePerHour: 0.5 }] },
    tasks: [
      {
        name: "classify",
        variants: ["small", "large"].map((variant) => ({
          name: variant,
          profile: `profile.json#${variant}`,
        })),
      },
    ],
    policy: SMALL_PROBLEM,
    ...(change.require === undefined ? {} : { require: change.require }),
  };
  writeFileSync(join(home, "profile.json"), JSON.stringify(PROFILE));
  writeFileSync(join(home, "app.json"), JSON.stringify(spec, null, 2));
  return join(home, "app.json");
}

describe("compile --require", () => {
  const app = written("plain");
  const out = join(folder, "plain", "bundle.msgpack");
  const compile = (...args: string[]) => stratagemHere("compile", app, "-o", out, ...args);

  test("ends with 0 and says what is kept", async () => {
    const kept =
      "feasible; violations <= ceiling; accuracy >= 75% @ 50; cost <= 2/h; bytes <= 2MiB";
    const { status, stdout, stderr } = await compile("--require", kept, "--json");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const told = JSON.parse(stdout);
    expect(told.written).toBe(true);
    expect(told.requirements.map(({ text }: { text: string }) => text).join("; ")).toBe(kept);
    expect(readFileSync(out)).toHaveLength(told.bundle.bytes);
  });

  test("ends with 3, a line for each broken promise, and what was there as it was", async () => {
    const before = readFileSync(out);
    const require = "feasible; accuracy >= 99%; cost <= 1/h; bytes <= 10; violations <= ceiling";
    const { status, stdout, stderr } = await compile("--require", require, "--jobs", "1");
    expect({ status, stderr }).toEqual({ status: 3, stderr: "" });
    const broken = stdout.split("\n").filter((line) => line.startsWith("BROKEN "));
    expect(broken.map((line) => line.split(":")[0])).toEqual([
      "BROKEN accuracy >= 99%",
      "BROKEN cost <= 1/h",
      "BROKEN bytes <= 10",
    ]);
    expect(broken[1]).toBe("BROKEN cost <= 1/h: 2/h at level 50 qps, and at 100 qps");
    expect(stdout).toContain("not written because a promise is broken");
    expect(readFileSync(out).equals(before)).toBe(true);
  });

  test("leaves nothing behind where nothing was", async () => {
    const fresh = join(folder, "fresh");
    mkdirSync(fresh);
    const path = join(fresh, "bundle.msgpack");
    const args = ["--require", "accuracy >= 99%", "--json"];
    const { status, stdout } = await stratagemHere("compile", app, "-o", path, ...args);
    expect([status, JSON.parse(stdout).written]).toEqual([3, false]);
    expect(readdirSync(fresh)).toEqual([]);
  });

  test("judges percentiles that levels state", async () => {
    const { status, stdout } = await compile("--require", "p99 <= slo; p50 <= 1ms @ 50", "--json");
    const [p99, p50] = JSON.parse(stdout).requirements;
    expect([status, p99.holds, p50.holds]).toEqual([3, true, false]);
    expect(p50.broken[0]).toMatchObject({ loadQps: 50, reason: "40 ms" });
  });

  test("simulates percentiles that levels do not state", async () => {
    const scenes = "policies/scenes/bundle.msgpack";
    const required = ["--require", "p95 <= 1ms @ 60", "--json"];
    const { status, stdout } = await stratagemHere("gate", scenes, scenes, ...required);
    const [p95] = JSON.parse(stdout).requirements;
    expect([status, p95.holds]).toEqual([3, false]);
    expect(p95.broken[0]).toMatchObject({ reason: expect.stringMatching(/ ms \(simulated\)$/) });
    expect(p95.broken[0].found).toBeGreaterThan(1);
  });

  test.each([
    ["accurcy >= 1%", /^RUNTIME_USAGE --require: expected a figure.*did you mean "accuracy"\?\n$/],
    ["", /^RUNTIME_USAGE --require: expected requirements such as .*, got ""\n$/],
  ])("%j is refused before any work", async (require, message) => {
    const { status, stderr } = await compile("--require", require);
    expect(status).toBe(64);
    expect(stderr).toMatch(message);
  });
});

describe("the requirements of a spec", () => {
  test("hold as those of the command line, beside them, and can be left out", async () => {
    const app = written("strict", { require: ["feasible; accuracy >= 99% @ 50", "cost <= 9/h"] });
    const out = join(folder, "strict", "bundle.msgpack");
    const compile = (...args: string[]) => stratagemHere("compile", app, "-o", out, ...args);
    const { status, stdout } = await compile("--require", "bytes <= 10");
    expect(status).toBe(3);
    expect(stdout.match(/^BROKEN [^:]*/gm)).toEqual([
      "BROKEN accuracy >= 99% @ 50",
      "BROKEN bytes <= 10",
    ]);
    expect(existsSync(out)).toBe(false);
    expect((await compile("--require", "none")).status).toBe(0);
    const checked = await compile("--check", "--json");
    expect([checked.status, JSON.parse(checked.stdout).same]).toEqual([3, true]);
  });

  test("are refused where they stand", async () => {
    const app = written("misspelt", { require: ["feasible", "accuracy >= 97"] });
    const { status, stderr } = await stratagemHere("compile", app, "-o", join(folder, "no"));
    expect(status).toBe(65);
    expect(stderr).toMatch(
      /INPUT_INVALID_VALUE .*app\.json:\d+ require\[1\]: expected a ratio .* accuracy, got "97"/,
    );
  });
});

test("levels that are not feasible are warned of, unless they are required to be", async () => {
  const app = written("overloaded", { loads: [50, 5000] });
  const out = join(folder, "overloaded", "bundle.msgpack");
  const compile = (...args: string[]) => stratagemHere("compile", app, "-o", out, ...args);
  const silent = await compile();
  expect(silent.status).toBe(0);
  expect(silent.stdout).toMatch(/^WARNING 1 of 2 levels is infeasible, and no requirement forbids/m);
  const required = await compile("--require", "feasible");
  expect(required.status).toBe(3);
  expect(required.stdout).not.toContain("WARNING");
  expect(required.stdout).toMatch(/^BROKEN feasible: violations .* > 2.000% at level 5000 qps/m);
});

describe("compile --check", () => {
  test("says what differs, as gate --show does, and what is no bundle", async () => {
    const [app, other] = [written("checked"), written("faster", { latency: "90 ms" })];
    const out = join(folder, "checked", "bundle.msgpack");
    await stratagemHere("compile", other, "-o", out);
    const check = (...args: string[]) =>
      stratagemHere("compile", app, "-o", out, "--check", ...args);
    const differs = await check();
    expect(differs.status).toBe(2);
    expect(differs.stdout).toMatch(/differs; compile again to update it\nthe bundles differ: 2/);
    expect(differs.stdout).toContain("slo.latencyMs: 90 → 100");
    const { diff } = JSON.parse((await check("--json")).stdout);
    expect(diff.fields).toContainEqual({ path: "slo.latencyMs", before: 90, after: 100 });
    expect(diff.levels.map(({ loadQps }: { loadQps: number }) => loadQps)).toEqual([50, 100]);
    writeFileSync(out, "no bundle");
    const broken = await check();
    expect(broken.status).toBe(2);
    expect(broken.stdout).toMatch(/the existing file is not a bundle: BUNDLE_MAGIC /);
  });
});

/** A bundle whose levels state an accuracy, whatever its table gives. */
function promising(accuracyPerSatisfied: number, loadsQps: readonly number[]): RamsisBundle {
  const tiny = tinyBundle({ workers: 2, loadsQps });
  const levels = tiny.levels.map((level) => {
    return { ...level, feasible: true, expected: { ...level.expected, accuracyPerSatisfied } };
  });
  return { ...tiny, levels };
}

describe("gate", () => {
  const paths = { old: "", next: "", lesser: "" };
  beforeAll(() => {
    const bundles = {
      old: promising(0.9, [10, 20]),
      next: promising(0.9, [10, 20, 30]),
      lesser: promising(0.8, [10, 20]),
    };
    for (const [name, bundle] of Object.entries(bundles)) {
      const path = join(folder, `${name}.msgpack`);
      writeFileSync(path, encodeBundle(bundle));
      Object.assign(paths, { [name]: path });
    }
  });

  test("lets pass what promises as much, and more", async () => {
    const { status, stdout } = await stratagemHere("gate", paths.old, paths.next, "--json");
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, regressions: [], requirements: [] });
  });

  test("ends with 3 where a promise is worse, unless it is allowed", async () => {
    const worse = await stratagemHere("gate", paths.old, paths.lesser);
    expect(worse.status).toBe(3);
    expect(worse.stdout).toMatch(/^REGRESSION accuracy at 10 qps: 90\.000% → 80\.000%$/m);
    expect(worse.stdout).toMatch(/^REGRESSION accuracy at 20 qps/m);
    const allow = ["--allow", "accuracy 10% @ 10", "--allow", "accuracy any @ 20"];
    expect((await stratagemHere("gate", paths.old, paths.lesser, ...allow)).status).toBe(0);
    const gone = await stratagemHere("gate", paths.next, paths.old);
    expect(gone.status).toBe(3);
    expect(gone.stdout).toContain("REGRESSION feasible at 30 qps: yes → none\n");
  });

  test("holds the new bundle to requirements, percentiles included", async () => {
    const require = ["--require", "feasible; p99 <= slo; p99 <= 5ms; accuracy >= 99%"];
    const { status, stdout } = await stratagemHere("gate", paths.old, paths.next, ...require);
    expect(status).toBe(3);
    expect(stdout.match(/^BROKEN [^:]*/gm)).toEqual([
      ...["BROKEN p99 <= 5ms", "BROKEN accuracy >= 99%"],
    ]);
    // The old one is not asked, so there is nothing to set beside it.
    expect(stdout).not.toMatch(/^load.*p99/m);
  });

  test("compares percentiles that tables do not state, once they may become worse", async () => {
    const asked = ["--allow", "p99 1% @ 10", "--json"];
    const { stdout } = await stratagemHere("gate", paths.old, paths.lesser, ...asked);
    const rows: { figure: string; loadQps: number; verdict: string; before: number }[] =
      JSON.parse(stdout).comparisons;
    const own = rows.filter(({ figure }) => figure === "p99");
    expect(own.map(({ loadQps, verdict }) => [loadQps, verdict])).toEqual([[10, "same"]]);
    for (const { before } of own) expect(before).toBeGreaterThan(10);
  });

  test("is printed as Markdown", async () => {
    const { status, stdout } = await stratagemHere("gate", paths.old, paths.lesser, "--markdown");
    expect(status).toBe(3);
    expect(stdout).toMatch(/^### tiny: 2 regressions in \d+ comparisons\n/);
  });

  test("shows differences and ends with 2, or says that there are none", async () => {
    const shown = await stratagemHere("gate", paths.old, paths.next, "--show");
    expect([shown.status, shown.stdout]).toEqual([
      2,
      expect.stringContaining("level 30 qps: added"),
    ]);
    const { status, stdout } = await stratagemHere(
      "gate",
      paths.old,
      paths.old,
      "--show",
      "--json",
    );
    expect([status, JSON.parse(stdout)]).toMatchObject([0, { same: true, fields: [], levels: [] }]);
    const { stderr } = await stratagemHere("gate", paths.old, paths.old, "--show", "--markdown");
    expect(stderr).toContain("cannot be used with option '--markdown'");
  });

  test.each([
    [["--allow", "accuracy"], 64, /^RUNTIME_USAGE --allow: expected a ratio/],
    [["--require", "nothing"], 64, /^RUNTIME_USAGE --require: expected a figure/],
  ])("%j is refused", async (args, code, message) => {
    const { status, stderr } = await stratagemHere("gate", paths.old, paths.next, ...args);
    expect(status).toBe(code);
    expect(stderr).toMatch(message);
  });

  test("a bundle that is none is refused by its code", async () => {
    const { status, stderr } = await stratagemHere("gate", paths.old, join(folder, "nowhere"));
    expect(status).toBe(65);
    expect(stderr).toMatch(/^RUNTIME_UNREADABLE /);
  });
});
