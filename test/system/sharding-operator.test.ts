/** What an operator of many machines gets wrong is said: where, what, and what is allowed. */
import { once } from "node:events";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  watch,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ReadPart } from "../../compiler/sharding/part-text.ts";
import { partText, readPartText } from "../../compiler/sharding/part-text.ts";
import { startStratagem, stratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-operator-"));
afterAll(() => rmSync(folder, { recursive: true }));

const row = (p95: number) => ({ p50: 0.9 * p95, p95, p99: 1.1 * p95, mean: 0.92 * p95 });
const profile = (ms: number) => ({
  format: "latency-profile/1",
  hardware: "test",
  variants: {
    small: { latencyMs: { 1: row(ms), 2: row(1.5 * ms), 4: row(2.5 * ms) } },
    large: { latencyMs: { 1: row(3 * ms), 2: row(5 * ms) } },
  },
});
const variant = (name: string, accuracy: number) => {
  return { name, accuracy, profile: `cpu.json#${name}` };
};
const spec = (change: object) => ({
  version: 1,
  application: "fleet",
  slo: { latency: "60 ms", maxViolationRate: "2%" },
  workload: { arrivals: { process: "poisson" }, loads: [40, 80, 120, 160] },
  cluster: { workers: 3 },
  tasks: [{ name: "classify", variants: [variant("small", 0.8), variant("large", 0.9)] }],
  policy: { method: "ramsis", maxQueue: 8 },
  ...change,
});

/** A machine with a spec and a profile of its own. */
function machine(name: string, change: object = {}, ms = 4): string {
  const at = join(folder, name);
  mkdirSync(at);
  writeFileSync(join(at, "app.yaml"), JSON.stringify(spec(change)));
  writeFileSync(join(at, "cpu.json"), JSON.stringify(profile(ms)));
  return at;
}

function shard(at: string, text: string, ...more: readonly string[]): string {
  const out = join(at, `${text.replace("/", "-of-")}.part`);
  const run = stratagem("compile", join(at, "app.yaml"), "--shard", text, "-o", out, ...more);
  expect(run).toMatchObject({ status: 0 });
  return out;
}

function refusal(...parts: readonly string[]): string {
  const bundle = join(folder, "none.msgpack");
  const { status, stderr } = stratagem("merge", ...parts, "-o", bundle);
  expect(status).toBe(65);
  expect(stderr).toContain("INPUT_PARTS");
  expect(existsSync(bundle)).toBe(false);
  return stderr;
}

function changed(path: string, name: string, change: (part: ReadPart) => ReadPart): string {
  const part = readPartText(readFileSync(path, "utf8"));
  if (part === null) throw new Error("it is a part");
  const out = join(folder, name);
  writeFileSync(out, partText(change(part)));
  return out;
}

const PLANNED = {
  workload: { arrivals: { process: "poisson" }, loads: [20, 40] },
  policy: { method: "loki" },
};

describe("parts of a fleet", () => {
  let parts: string[] = [];
  beforeAll(() => {
    const at = machine("fleet");
    parts = ["1/3", "2/3", "3/3"].map((text) => shard(at, text));
  });
  const [one, two, three] = [() => parts[0] ?? "", () => parts[1] ?? "", () => parts[2] ?? ""];

  test("that are lost, or there twice, are named by number and path", () => {
    expect(refusal(one(), three())).toContain(
      "expected one part of each of 3 shards, but shard 2 is lost",
    );
    const copy = join(folder, "copy.part");
    copyFileSync(two(), copy);
    expect(refusal(one(), two(), copy, three())).toContain(
      `shard 2 was given 2 times (${two()} and ${copy})`,
    );
    const absent = join(folder, "absent.part");
    expect(refusal(one(), two(), absent)).toContain(`shard 3 is lost; not found: ${absent}`);
  });

  test("of another number of shards are refused with both", () => {
    const of7 = shard(join(folder, "fleet"), "2/7");
    expect(refusal(one(), of7, three())).toContain(`${one()} is shard 1/3 and ${of7} is shard 2/7`);
  });

  test("of another version, or build, of the compiler are refused with both", () => {
    const older = changed(two(), "older.part", (part) => {
      return { ...part, header: { ...part.header, compiler: "stratagem 0.0.1" } };
    });
    expect(refusal(one(), older, three())).toMatch(/is by stratagem .* and .*by stratagem 0\.0\.1/);
    const all = parts.map((path, index) => {
      return changed(path, `older-${index}.part`, (part) => {
        return { ...part, header: { ...part.header, compiler: "stratagem 0.0.1" } };
      });
    });
    expect(refusal(...all)).toMatch(/expected a part by this compiler, .*, got one by .*0\.0\.1/);
  });

  test("of another spec, another profile or other options are refused with what differs", () => {
    const loads = { workload: { arrivals: { process: "poisson" }, loads: [40, 80, 120, 170] } };
    const ofSpec = shard(machine("spec", loads), "2/3");
    expect(refusal(one(), ofSpec, three())).toMatch(/app\.yaml differs between .*1-of-3/);
    const ofProfile = shard(machine("profile", {}, 4.1), "2/3");
    expect(refusal(one(), ofProfile, three())).toMatch(/cpu\.json differs between .*1-of-3/);
    const named = shard(machine("named", { application: "other" }), "2/3");
    expect(refusal(one(), named, three())).toContain(`${one()} is for fleet, ${named} for other`);
    const at = machine("options", PLANNED);
    const plain = shard(at, "1/2");
    const other = shard(at, "2/2", "--solver", "highs");
    expect(refusal(plain, other)).toContain(
      `${plain} and ${other} were compiled with different options`,
    );
  });

  test("that were cut anywhere, or are something else, are refused by path", () => {
    const text = readFileSync(two(), "utf8");
    const cut = join(folder, "cut.part");
    const places = [0, 1, 100, text.indexOf("\n"), text.indexOf("\n") + 1, text.length >> 1];
    const atEnd = [text.lastIndexOf("\n", text.length - 2), text.length - 2];
    for (const place of [...places, ...atEnd]) {
      writeFileSync(cut, text.slice(0, place));
      expect(refusal(one(), cut, three())).toContain(
        `${cut}: expected a part written by stratagem compile --shard, got`,
      );
    }
    expect(refusal(one(), folder, three())).toContain(`${folder}: expected a part`);
  });

  test("are merged whatever their order, and a status says so", () => {
    const bundle = join(folder, "bundle.msgpack");
    const alone = join(folder, "alone.msgpack");
    expect(stratagem("merge", three(), one(), two(), "-o", bundle).status).toBe(0);
    const app = join(folder, "fleet", "app.yaml");
    expect(stratagem("compile", app, "-o", alone).status).toBe(0);
    expect(readFileSync(bundle).equals(readFileSync(alone))).toBe(true);
    const { status, stdout } = stratagem("merge", three(), one(), "--status");
    expect(status).toBe(0);
    expect(stdout).toContain("shard 2 is lost");
  });
});

const small = { ...variant("small", 0.8) };
/** Levels that take long enough to be interrupted at. */
const LONG = {
  cluster: { pools: [{ name: "cpu", workers: 200, pricePerHour: 1 }] },
  workload: { arrivals: { process: "poisson" }, loads: [50, 100, 200, 300, 400, 500] },
  slo: { latency: "60 ms", percentile: 98 },
  tasks: [
    { name: "gate", variants: [small], to: [{ task: "name" }] },
    { name: "name", variants: [small] },
  ],
  policy: { method: "inferline", sampleDuration: "60 s", margin: "auto" },
};

/** Resolves once a file of the folder has so many lines. */
async function linesIn(at: string, file: string, lines: number): Promise<void> {
  const has = () => {
    const path = join(at, file);
    return existsSync(path) && readFileSync(path, "utf8").split("\n").length > lines;
  };
  const watcher = watch(at);
  while (!has()) await once(watcher, "change");
  watcher.close();
}

test("an interrupted shard leaves no part, and the same command goes on from there", async () => {
  const at = machine("interrupted", LONG);
  const out = join(at, "1.part");
  const args = ["compile", join(at, "app.yaml"), "--shard", "1/1", "-o", out, "--jobs", "1"];
  const running = startStratagem(...args);
  let stderr = "";
  running.stderr?.on("data", (bytes) => {
    stderr += String(bytes);
  });
  await linesIn(at, "1.part.partial", 2);
  running.kill("SIGINT");
  const [code] = await once(running, "exit");
  expect(code).toBe(130);
  expect(stderr).toContain(`${out}.partial keeps the solved levels`);
  expect(readdirSync(at).sort()).toEqual(["1.part.partial", "app.yaml", "cpu.json"]);
  expect(refusal(out)).toContain("shard 1 is unfinished");
  const again = stratagem(...args, "--json");
  expect(again.status).toBe(0);
  expect(JSON.parse(again.stdout).kept).toBeGreaterThan(0);
  expect(readdirSync(at).sort()).toEqual(["1.part", "app.yaml", "cpu.json"]);
  const [bundle, alone] = [join(at, "bundle.msgpack"), join(at, "alone.msgpack")];
  expect(stratagem("merge", out, "-o", bundle).status).toBe(0);
  expect(stratagem("compile", join(at, "app.yaml"), "-o", alone).status).toBe(0);
  expect(readFileSync(bundle).equals(readFileSync(alone))).toBe(true);
});

test("a status is to be had all the while a fleet runs, and only ever goes up", async () => {
  const at = machine("running", LONG);
  const out = (number: number) => join(at, `${number}.part`);
  const fleet = [1, 2, 3].map((number) => {
    const asked = ["--shard", `${number}/3`, "-o", out(number), "--jobs", "1"];
    const shard = startStratagem("compile", join(at, "app.yaml"), ...asked);
    return { shard, ended: once(shard, "exit") };
  });
  await linesIn(at, "1.part.partial", 1);
  let seen = 0;
  let looks = 0;
  for (let isComplete = false; !isComplete; looks++) {
    const over = fleet.every(({ shard: { exitCode } }) => exitCode !== null);
    const run = stratagem("merge", out(1), out(2), out(3), "--status", "--json");
    expect(run).toMatchObject({ status: 0, stderr: "" });
    const { complete, levels, shards } = JSON.parse(run.stdout);
    expect(levels).toBeGreaterThanOrEqual(seen);
    for (const { state } of shards) expect(["done", "unfinished", "lost"]).toContain(state);
    seen = levels;
    isComplete = complete;
    if (over) expect(complete).toBe(true);
    // What has ended is told of between two looks.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(seen).toBe(6);
  expect(looks).toBeGreaterThan(1);
  for (const { ended } of fleet) expect((await ended)[0]).toBe(0);
});
