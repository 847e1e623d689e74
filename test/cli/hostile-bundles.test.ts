/** Bundles that ask for more than there is: refused in one line, by every command. */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";
import { packed, payloadOf, signed } from "../../lab/campaign/bundles/signed-file.ts";
import { placeAt } from "../../lab/campaign/bundles/sites.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { startStratagem } from "../support/run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "hostile-"));
afterAll(() => rmSync(folder, { recursive: true }));

const LETTERS = ["--models", "models/image-classification", "--http", "127.0.0.1:0"];
const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;

/** Hundredths of a second of computing, after which a process is at its simulation. */
const COMPUTING_TICKS = 200;

/** What a process has computed so far. */
function cpuTicks(pid = 0): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

/** A committed policy with one number changed, and re-signed. @returns its path. */
function changed(policy: string, path: string, value: number): string {
  const file = readFileSync(`policies/${policy}/bundle.msgpack`);
  const payload = payloadOf(file);
  const keys = path.split(".").map((key) => (/^\d+$/.test(key) ? Number(key) : key));
  const [parent, key] = placeAt(payload, keys);
  parent[key] = value;
  const to = join(folder, `${policy}-${value}.msgpack`);
  writeFileSync(to, signed(file, packed(payload)));
  return to;
}

describe.each([
  ["scenes", "cluster.pools.0.workers", 20_000, "an integer from 1 to 10000"],
  ["scaling", "cluster.communicationLatencyMs", 1e9, "a number from 0 to 60000"],
  ["letters", "cluster.pools.0.workers", 1e6, "an integer from 1 to 10000"],
])("%s with %s = %d", (policy, path, value, allowed) => {
  const bundle = changed(policy, path, value);
  const place = path.replace(".0", "[0]");
  const message = `${place}: expected ${allowed}, got ${value}; compile the bundle again`;

  test.each([
    ["simulate", [bundle, "--arrivals", "poisson:20", "--duration", "2s"], 65],
    ["inspect", [bundle], 65],
    ["serve", ["--policy", bundle, ...LETTERS], 65],
  ])("is refused by %s", async (command, args, status) => {
    const run = await stratagemHere(command, ...args);
    expect(run.stderr).toBe(`BUNDLE_SCHEMA ${bundle}: ${message}\n`);
    expect(run.status).toBe(status);
  });

  test("is refused by verify", async () => {
    const { stdout, status } = await stratagemHere("verify", bundle);
    expect(stdout).toContain(`refused: BUNDLE_SCHEMA ${bundle}: ${message}\n`);
    expect(status).toBe(3);
  });
});

test("pools of workers that are too many together are refused", async () => {
  const { stderr } = await stratagemHere(
    "inspect",
    changed("scenes", "cluster.pools.0.workers", 9000),
  );
  expect(stderr).toContain("cluster.pools: expected at most 4096 in all pools together, got 9000");
});

test.runIf(hasPrlimit)("workers beyond RLIMIT_NPROC are refused before one is started", () => {
  const args = ["compiler/dist/cli.js", "serve", "--policy", "policies/letters/bundle.msgpack"];
  const run = spawnSync("prlimit", ["--nproc=20:20", process.execPath, ...args, ...LETTERS], {
    encoding: "utf8",
  });
  expect(run.stderr).toBe(
    "RUNTIME_MEANS policies/letters/bundle.msgpack: 2 workers need 24 threads, but this " +
      "machine has 20 left (RLIMIT_NPROC); raise the limit, compile for fewer workers, or serve " +
      "with --no-means-check\n",
  );
  expect(run.status).toBe(65);
});

test.each(["SIGTERM", "SIGINT"] as const)("%s ends a simulation that computes", async (signal) => {
  // Thirty years of queries: it would not end by itself.
  const letters = ["policies/letters/bundle.msgpack", "--arrivals", "poisson:2000"];
  const child = startStratagem("simulate", ...letters, "--duration", "1000000000s");
  const exited = once(child, "exit");
  await once(child, "spawn");
  while (cpuTicks(child.pid) < COMPUTING_TICKS) await setTimeout(10);
  child.kill(signal);
  const [, by] = await exited;
  expect(by).toBe(signal);
});
