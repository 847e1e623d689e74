/** `simulate` of a bundle that says what serving takes, with its stations and without. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { EXIT_CODES } from "../../runtime/base/errors.ts";
import { encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { always, servedOn } from "../support/serving-path.ts";
import { tinyBundle } from "../support/tiny-bundle.ts";

const RATIOS = { p50: 0.8, p95: 1, p99: 1.1, mean: 0.82 };
const LOAD = ["--arrivals", "poisson:10", "--duration", "20s"];

const ROWS = { requestMs: always(1), wireMs: always(2), processors: 1 };

const folder = mkdtempSync(join(tmpdir(), "stratagem-stations-"));
afterAll(() => rmSync(folder, { recursive: true }));

const drawable = tinyBundle({ workers: 2, quantileRatios: RATIOS });
const bare = written("bare.msgpack", drawable);
const served = written("served.msgpack", servedOn(drawable, ROWS));
const withoutQuantiles = written("plain.msgpack", servedOn(tinyBundle({ workers: 2 }), ROWS));

function written(name: string, bundle: Parameters<typeof encodeBundle>[0]): string {
  const path = join(folder, name);
  writeFileSync(path, encodeBundle(bundle));
  return path;
}

async function simulated(...args: string[]) {
  const { stdout } = await stratagemHere("simulate", ...args, ...LOAD, "--json");
  return JSON.parse(stdout);
}

test("a slower machine is said, and what its level promises there", async () => {
  expect(await simulated(bare)).toMatchObject({ machine: null, adapts: true });
  const at = { pace: 2, accuracyPerQuery: 0.7, violationRate: 0.01, p50: 20, p99: 80 };
  const levels = drawable.levels.map((level) => {
    return { ...level, expected: { ...level.expected, byPace: [at] } };
  });
  const paced = written("paced.msgpack", { ...drawable, levels });
  const machine = { pace: 1.5, slow: null, workerPaces: {}, lost: null };
  const slower = await simulated(paced, "--pace", "1.5");
  expect(slower).toMatchObject({ machine, adapts: true, expectedAtPace: at });
  const asBefore = await simulated(paced, "--pace", "1.5", "--no-adapt");
  expect(asBefore).toMatchObject({ machine, adapts: false });
  expect(asBefore.expectedAtPace).toBeUndefined();
  const { stdout } = await stratagemHere("simulate", paced, ...LOAD, "--pace", "1.5");
  expect(stdout).toMatch(/^machine: pace 1.5; the policy adapts$/m);
  expect(stdout).toMatch(/^expected at \S+ qps and pace 1.5, promised for pace 2: /m);
});

describe("latencies", () => {
  test("say what they are without, and why", async () => {
    expect(await simulated(bare)).toMatchObject({
      latenciesWithout: ["serving path", "contention"],
      serviceTimes: "p95",
    });
    expect((await simulated(served)).latenciesWithout).toEqual([]);
    expect((await simulated(served, "--without", "path")).latenciesWithout).toEqual([
      "serving path",
    ]);
    const text = async (...args: string[]) =>
      (await stratagemHere("simulate", ...args, ...LOAD)).stdout.trimEnd().split("\n").at(-1);
    expect(await text(bare)).toBe("latencies without serving path and contention (not profiled)");
    expect(await text(served, "--without", "contention")).toBe(
      "latencies without contention (left out)",
    );
    expect(await text(served)).not.toContain("without");
  });

  test("are those of the models alone where both stations are left out", async () => {
    const timeless = ({ wallMs: _, queriesPerWallSecond: __, ...rest }: Record<string, unknown>) =>
      rest;
    const left = await simulated(served, "--without", "path,contention", "--service-times", "p95");
    expect(timeless(left)).toEqual({
      ...timeless(await simulated(bare)),
      latenciesWithout: ["serving path", "contention"],
    });
    const all = await simulated(served, "--service-times", "p95");
    expect(all.latencyMs.p50).toBeGreaterThan(left.latencyMs.p50 + 3 - 1e-9);
  });

  test("of what is compared with measured ones are drawn, given quantiles", async () => {
    expect((await simulated(served)).serviceTimes).toBe("sampled");
    expect((await simulated(served, "--service-times", "p95")).serviceTimes).toBe("p95");
    expect((await simulated(withoutQuantiles)).serviceTimes).toBe("p95");
  });
});

describe("an option that makes no sense is refused:", () => {
  test.each([
    [["--without", "wire"], 'expected --without path, contention or path,contention, got "wire"'],
  ])("%j", async (args, message) => {
    const { status, stderr } = await stratagemHere("simulate", served, ...LOAD, ...args);
    expect(status).toBe(EXIT_CODES.usage);
    expect(stderr).toContain(message);
  });
});
