import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";
import { refusedHere } from "../support/compile-here.ts";
import type { CliRun } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-provisioning-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LATENCIES: Record<string, Record<string, Record<string, number>>> = {
  cpu: {
    read: { 1: 12, 2: 22, 4: 42 },
    find: { 1: 90, 2: 170 },
    name: { 1: 60, 2: 110 },
  },
  gpu: {
    find: { 1: 20, 2: 24, 4: 32, 8: 50 },
    name: { 1: 14, 2: 16, 4: 21, 8: 30 },
  },
};

interface Spec {
  slo: Record<string, unknown>;
  workload: { arrivals: Record<string, unknown>; loads: unknown };
  cluster: { pools?: Record<string, unknown>[]; workers?: number };
  policy: Record<string, unknown>;
  tasks: Record<string, unknown>[];
}

/** read → find and, for some, name; then say what was found: a join. */
function spec(): Spec & Record<string, unknown> {
  const variant = (name: string, hardware: readonly string[]) => ({
    variants: [{ name, accuracy: 0.9, profile: hardware.map((one) => `${one}.json#${name}`) }],
  });
  return {
    version: 1,
    application: "provisioning",
    slo: { latency: "250 ms" },
    workload: { arrivals: { process: "gamma", cv2: 2 }, loads: [40, 80] },
    cluster: {
      pools: [
        { name: "cores", hardware: "cpu", workers: 40, pricePerHour: 0.0665 },
        { name: "cards", hardware: "gpu", workers: 6, pricePerHour: 0.7005 },
      ],
    },
    tasks: [
      {
        name: "read",
        ...variant("read", ["cpu"]),
        to: [{ task: "find" }, { task: "name", share: 0.4 }],
      },
      { name: "find", ...variant("find", ["cpu", "gpu"]), to: [{ task: "say" }] },
      { name: "name", ...variant("name", ["cpu", "gpu"]), to: [{ task: "say" }] },
      { name: "say", ...variant("read", ["cpu"]) },
    ],
    policy: { method: "inferline", sampleDuration: "15 s" },
  };
}

function write(name: string, change: (one: Spec) => void = () => {}): string {
  const one = spec();
  change(one);
  const path = join(folder, `${name}.json`);
  writeFileSync(path, JSON.stringify(one, null, 1));
  return path;
}

function compile(name: string, change: (one: Spec) => void = () => {}): Promise<CliRun> {
  return stratagemHere(
    "compile",
    write(name, change),
    "-o",
    join(folder, `${name}.msgpack`),
    "--json",
  );
}

beforeAll(() => {
  for (const [hardware, variants] of Object.entries(LATENCIES)) {
    const profile = {
      format: "latency-profile/1",
      hardware,
      variants: Object.fromEntries(
        Object.entries(variants).map(([name, latencyMs]) => [name, { accuracy: 0.9, latencyMs }]),
      ),
    };
    writeFileSync(join(folder, `${hardware}.json`), JSON.stringify(profile));
  }
});

interface PlannedLevel {
  feasible: boolean;
  capacityQps: number;
  plan: {
    costPerHour: number;
    stages: { task: string; hardware: string; batch: number; replicas: number }[];
    estimate: { p99Ms: number; missRate: number };
    greedyCostPerHour: number;
    provenGap: number;
  };
}

describe("provisioning on the command line", () => {
  let compiled: CliRun;
  const bundle = join(folder, "provisioning.msgpack");

  beforeAll(async () => {
    compiled = await compile("provisioning");
  });

  test("compiles to the cheapest plan for each load, proven, with what to expect of it", () => {
    expect(compiled.stderr).toBe("");
    const { method, levels } = JSON.parse(compiled.stdout);
    expect(method).toBe("inferline");
    for (const level of levels as PlannedLevel[]) {
      const { costPerHour, stages, estimate, greedyCostPerHour, provenGap } = level.plan;
      expect(stages.map(({ task }) => task)).toEqual(["read", "find", "name", "say"]);
      const cost = stages.reduce((sum, { hardware, replicas }) => {
        return sum + replicas * (hardware === "gpu" ? 700_500 : 66_500);
      }, 0);
      expect(costPerHour).toBe(cost / 1e6);
      expect(greedyCostPerHour).toBeGreaterThanOrEqual(costPerHour);
      expect(provenGap).toBe(0);
      expect(estimate.p99Ms).toBeLessThanOrEqual(250);
      expect(estimate.missRate).toBeLessThanOrEqual(0.01);
      expect(level.feasible).toBe(true);
    }
    const [low, high] = levels as PlannedLevel[];
    expect(high?.plan.costPerHour).toBeGreaterThan(low?.plan.costPerHour ?? Number.NaN);
  });

  test("is simulated with the tuner at work, and says what it costs", async () => {
    const run = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "gamma:40,2",
      "--duration",
      "60s",
      "--json",
    );
    const { violationRate, costPerHour, queries, dropped } = JSON.parse(run.stdout);
    expect(queries).toBeGreaterThan(2000);
    expect(dropped).toBe(0);
    expect(violationRate).toBeLessThan(0.05);
    expect(costPerHour).toBeGreaterThan(0);
  });

  describe("beside others on the same arrivals", () => {
    const args = ["simulate", bundle, "--arrivals", "gamma:40,2", "--duration", "20s", "--json"];
    let own: { queries: number; costPerHour: number };

    beforeAll(async () => {
      own = JSON.parse((await stratagemHere(...args)).stdout);
    });

    test.each(["cg-mean", "cg-peak", "cg-mean-autoscale", "cg-peak-autoscale"])(
      "is simulated beside %s",
      async (baseline) => {
        const other = JSON.parse((await stratagemHere(...args, "--baseline", baseline)).stdout);
        expect(other.queries).toBe(own.queries);
        expect(Object.keys(other.byTask)).toEqual(["read", "find", "name", "say"]);
        expect(other).not.toHaveProperty("expected");
        if (baseline.startsWith("cg-peak")) {
          expect(other.costPerHour).toBeGreaterThan(own.costPerHour);
        }
      },
    );
  });

  test("refuses baselines of other methods, and says which there are", async () => {
    const proteus = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:40",
      "--baseline",
      "proteus",
    );
    expect(proteus.status).toBe(64);
    expect(proteus.stderr).toContain(
      "--baseline proteus is not for a bundle of method inferline; " +
        "expected one of cg-mean, cg-peak",
    );
    const none = await stratagemHere(
      "simulate",
      bundle,
      "--arrivals",
      "poisson:40",
      "--baseline",
      "cg-median",
    );
    expect(none.stderr).toContain("for provisioned stages one of cg-mean, cg-peak");
  });

  test("keeps so much of the SLO free that other traces meet it, if it may choose", async () => {
    const { stdout } = await compile("margin", (one) => {
      one.policy["margin"] = "auto";
      one.workload.loads = [80];
    });
    const [level] = JSON.parse(stdout).levels;
    expect(level.expected.heldOut.traces).toBe(200);
    expect(level.expected.heldOut.met).toBeGreaterThanOrEqual(190);
  });

  test("plans for what the pools can carry where a load is too much for them", async () => {
    const run = await compile("beyond", (one) => {
      one.workload.loads = [40, 4000];
      one.policy["sampleDuration"] = "3 s";
    });
    const [low, high] = JSON.parse(run.stdout).levels as PlannedLevel[];
    expect(low?.feasible).toBe(true);
    expect(high?.feasible).toBe(false);
    expect(high?.capacityQps).toBeLessThan(4000);
    expect(high?.capacityQps).toBeGreaterThan(40);
  });

  test("takes longer samples for a rare load, where their length is left to it", async () => {
    const { stdout } = await compile("rare", (one) => {
      one.workload.loads = [0.2, 40];
      one.policy = { method: "inferline" };
    });
    const [rare, usual] = JSON.parse(stdout).levels;
    expect(rare.feasible).toBe(true);
    expect(rare.sample.requests).toBeGreaterThan(900);
    expect(rare.sample.requests).toBeLessThan(1100);
    // 1,200 SLOs of 250 ms.
    expect(usual.sample.requests).toBeGreaterThan(11_500);
    expect(usual.sample.requests).toBeLessThan(12_500);
  });

  test("takes recorded arrivals as its sample, at the speed of each load", async () => {
    const arrivals = Array.from({ length: 3000 }, (_, index) => index * 10 + (index % 7));
    writeFileSync(join(folder, "trace.csv"), ["arrivalMs", ...arrivals].join("\n"));
    const { stdout } = await compile("trace", (one) => {
      one.workload = { arrivals: { process: "trace", file: "trace.csv" }, loads: [50] };
      one.policy["sampleDuration"] = "20 s";
    });
    const [level] = JSON.parse(stdout).levels;
    // At 100/s as recorded, so half as fast: the first 20 s are 1000 arrivals; the others judge the
    // plan.
    expect(level.sample.requests).toBe(1000);
    expect(level.expected.heldOut.traces).toBe(2);
  });

  test("a trace of whole seconds costs what its load costs, and compile says so", async () => {
    const seconds = Array.from({ length: 6000 }, (_, index) => Math.floor(index / 100));
    writeFileSync(join(folder, "seconds.csv"), ["arrivalSeconds", ...seconds].join("\n"));
    const costOf = async (name: string, arrivals: Spec["workload"]["arrivals"]) => {
      const { stdout } = await compile(name, (one) => {
        one.workload = { arrivals, loads: [100] };
      });
      const { levels, warnings } = JSON.parse(stdout);
      return { cost: levels[0].costPerHour, warnings };
    };
    const poisson = await costOf("poisson", { process: "poisson" });
    const recorded = await costOf("seconds", { process: "trace", file: "seconds.csv" });
    expect(poisson.warnings.join()).not.toContain("at random");
    expect(recorded.cost).toBe(poisson.cost);
    const said = "seconds.csv: all times are multiples of 1 s and some are equal";
    expect(recorded.warnings).toContainEqual(expect.stringContaining(said));
    const inspected = await stratagemHere("inspect", join(folder, "seconds.msgpack"), "--json");
    expect(JSON.parse(inspected.stdout).arrivals).toMatchObject({ spreadMs: 1000 });
  });
});

describe("what cannot be provisioned is refused with one line that says where and why", () => {
  const refused = async (name: string, change: (one: Spec) => void): Promise<string> => {
    const out = join(folder, `${name}.msgpack`);
    const { status, stderr, stdout } = await refusedHere(write(name, change), out);
    expect({ status, stdout }).toEqual({ status: 65, stdout: "" });
    expect(existsSync(out)).toBe(false);
    const lines = stderr.trim().split("\n");
    for (const line of lines) expect(line).toMatch(/^INPUT_[A-Z_]+ \S+: ?/);
    return (lines[0] ?? "").replaceAll(`${folder}/`, "");
  };
  const task = (one: Spec, index: number) => one.tasks[index] ?? {};

  test.each<[string, (one: Spec) => void, RegExp]>([
    [
      "no profile for any pool",
      (one) => {
        one.cluster.pools = [{ name: "cards", hardware: "gpu", workers: 9, pricePerHour: 1 }];
      },
      /no pool can run "read": its profiles are of "cpu", and the pools are cards \(gpu\)/,
    ],
    [
      "an SLO that is too short",
      (one) => {
        one.slo["latency"] = "40 ms";
      },
      /slo\.latency: expected more than the 44 ms .*find on gpu 20 ms.*got 40 ms/,
    ],
    [
      "a price of nothing",
      (one) => {
        Object.assign(one.cluster.pools?.[1] ?? {}, { pricePerHour: 0 });
      },
      /cluster\.pools\[1\]\.pricePerHour: expected a price above 0.*got 0/,
    ],
    [
      "a negative price",
      (one) => {
        Object.assign(one.cluster.pools?.[0] ?? {}, { pricePerHour: -1 });
      },
      /cluster\.pools\[0\]\.pricePerHour: .*got -1/,
    ],
    [
      "no price",
      (one) => {
        one.cluster = { workers: 30 };
        for (const { variants } of one.tasks as { variants: { profile: unknown }[] }[]) {
          for (const variant of variants) variant.profile = [variant.profile].flat(2)[0];
        }
      },
      /cluster\.pools: missing; expected pools, each with pricePerHour/,
    ],
    [
      "a cycle",
      (one) => {
        task(one, 3)["to"] = [{ task: "find" }];
      },
      /expected no cycle, got find → say → find/,
    ],
    [
      "exclusive shares of more than one",
      (one) => {
        Object.assign(task(one, 0), { branch: "exclusive" });
      },
      /tasks\[0\]\.to: branch is exclusive.*at most 1, got 1 \+ 0\.4 = 1\.4/,
    ],
    [
      "rows of different origins at a join",
      (one) => {
        const [variant] = task(one, 0)["variants"] as Record<string, unknown>[];
        Object.assign(variant ?? {}, { fanout: { find: 2.5 } });
      },
      /tasks\[2\]\.to\[0\]\.task: edges to "say" carry rows of different origins/,
    ],
    [
      "variants to choose from",
      (one) => {
        const variants = task(one, 1)["variants"] as Record<string, unknown>[];
        variants.push({ name: "other", accuracy: 0.8, profile: "gpu.json#name" });
      },
      /does not choose among variants: "find" and "other" can both run in pool "cards"/,
    ],
    [
      "fewer workers than tasks",
      (one) => {
        Object.assign(one.cluster.pools?.[0] ?? {}, { workers: 1 });
      },
      /the pools have no worker left for "say".*got cores 1, cards 6/,
    ],
    [
      "levels by accuracy",
      (one) => {
        one.workload.loads = { from: 10, to: 90, maxAccuracyStep: "1%" };
      },
      /inferline does not choose accuracies/,
    ],
  ])("%s", async (name, change, message) => {
    expect(await refused(name.replaceAll(" ", "-"), change)).toMatch(message);
  });

  test.each<[string, string, RegExp]>([
    ["an empty trace", "", /trace\.csv: expected a trace, got no rows/],
    ["a trace without arrivals", "arrivalMs\n", /trace\.csv: expected at least one arrival/],
    [
      "a trace that is not in order",
      "arrivalMs\n0\n5\n3\n",
      /trace\.csv:4: expected an arrival that is not before the one above, got "3"/,
    ],
    ["a trace of words", "arrivalMs\n0\nfive\n", /trace\.csv:3: expected a time in ms.*got "five"/],
  ])("%s", async (name, text, message) => {
    writeFileSync(join(folder, "trace.csv"), text);
    const change = (one: Spec): void => {
      one.workload.arrivals = { process: "trace", file: "trace.csv" };
    };
    expect(await refused(name.replaceAll(" ", "-"), change)).toMatch(message);
  });
});
