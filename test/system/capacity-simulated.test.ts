/** `capacity` of every method by simulation: of bundles and specs, with other limits. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { LOADS_QPS, writeApplication } from "../contract/application.ts";
import { ramsis } from "../contract/subjects/ramsis.ts";
import { SUBJECTS } from "../contract/subjects.ts";
import { stratagemHere } from "../support/cli-here.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-capacity-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Row {
  readonly loadQps: number;
  readonly workers: number;
  readonly violationRate: number;
  readonly headroom: number | null;
}

async function jsonOf(...args: string[]) {
  const { status, stdout, stderr } = await stratagemHere("capacity", ...args, "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout);
}

describe.each(SUBJECTS)("of $method", ({ method, compiled }) => {
  const home = mkdtempSync(join(folder, `${method}-`));
  const app = writeApplication(home, compiled);
  const bundle = join(home, "bundle.msgpack");

  test("is an interval with its confidence, and a table of loads and workers", async () => {
    expect((await stratagemHere("compile", app, "-o", bundle)).status).toBe(0);
    const found = await jsonOf(bundle);
    expect(found).toMatchObject({ application: "echo", method, limit: 0.05, confidence: 0.99 });
    const { holdsQps, estimateQps, failsQps, byWorkers, samples, isInterrupted } = found;
    expect(holdsQps).toBeGreaterThanOrEqual(LOADS_QPS[0] ?? 0);
    expect(estimateQps).toBeGreaterThanOrEqual(holdsQps);
    expect(failsQps).toBeGreaterThanOrEqual(estimateQps);
    expect(failsQps / holdsQps).toBeLessThan(1.4);
    expect([samples > 10_000, isInterrupted]).toEqual([true, false]);
    expect(byWorkers[0]).toMatchObject({ holdsQps, failsQps });
    const rows: Row[] = byWorkers.flatMap(({ loads }: { loads: Row[] }) => loads);
    for (const { violationRate, headroom } of rows) {
      expect(violationRate <= 0.05, `${violationRate}`).toBe(headroom !== null);
    }
    const fewer: number[] = byWorkers.map((one: { holdsQps: number }) => one.holdsQps);
    expect(fewer).toEqual(fewer.toSorted((a, b) => b - a));
  }, 60_000);
});

const home = mkdtempSync(join(folder, "spec-"));
const app = writeApplication(home, ramsis.compiled);

test("a spec is compiled for more workers, which hold more", async () => {
  const { byWorkers, notes } = await jsonOf(app);
  const found: { workers: number; holdsQps: number }[] = byWorkers;
  const own = found[0];
  const most = found.toSorted((a, b) => b.workers - a.workers)[0];
  expect(most?.workers).toBe(2 * (own?.workers ?? 0));
  expect(most?.holdsQps).toBeGreaterThan(1.5 * (own?.holdsQps ?? 0));
  expect(notes[0]).toMatch(/^add a worker at [\d.]+\/s: \d+ workers hold [\d.]+\/s$/);
}, 60_000);

test("a looser SLO, and more late requests, are more capacity", async () => {
  const bundle = join(home, "bundle.msgpack");
  expect((await stratagemHere("compile", app, "-o", bundle)).status).toBe(0);
  const own = await jsonOf(bundle);
  const looser = await jsonOf(bundle, "--late", "20%", "--confidence", "0.95");
  expect(looser).toMatchObject({ limit: 0.2, confidence: 0.95 });
  expect(looser.estimateQps).toBeGreaterThan(own.estimateQps);
  const tighter = await jsonOf(bundle, "--slo", "60ms");
  expect(tighter.sloMs).toBe(60);
  expect(tighter.estimateQps).toBeLessThan(own.estimateQps);
  const text = (await stratagemHere("capacity", bundle)).stdout;
  expect(text).toContain("echo: at most 5.000% late or lost with SLO 200 ms; confidence 99 %");
  expect(text).toContain(`add a worker at ${own.holdsQps}/s`);
}, 60_000);
