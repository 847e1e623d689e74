/** `capacity` by simulation: what it prints, and what it refuses. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { RamsisBundle } from "../../runtime/bundle/schema.ts";
import { decodeBundle, encodeBundle } from "../../runtime/bundles/checked-bundle.ts";
import { stratagemHere } from "../support/cli-here.ts";
import { tinyBundle } from "../support/tiny-bundle.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-capacity-"));
const bundle = join(folder, "bundle.msgpack");
writeFileSync(bundle, encodeBundle(tinyBundle({ workers: 2 })));
afterAll(() => rmSync(folder, { recursive: true }));

test("states an interval with its confidence, and a table of loads and workers", async () => {
  const { status, stdout, stderr } = await stratagemHere("capacity", bundle, "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const { holdsQps, estimateQps, failsQps, byWorkers, ...found } = JSON.parse(stdout);
  expect(found).toMatchObject({ method: "ramsis", sloMs: 100, limit: 0.01, confidence: 0.99 });
  expect(holdsQps).toBeLessThanOrEqual(estimateQps);
  expect(estimateQps).toBeLessThanOrEqual(failsQps);
  expect(byWorkers).toMatchObject([{ workers: 2, holdsQps, failsQps }, { workers: 1 }]);
  expect(byWorkers[1].holdsQps).toBeLessThan(holdsQps);
  expect(found.notes[0]).toBe(`add a worker at ${holdsQps}/s`);
  for (const { loads } of byWorkers) {
    for (const { violationRate, headroom } of loads) {
      expect(violationRate <= 0.01, `${violationRate}`).toBe(headroom !== null);
    }
  }
}, 30_000);

test("a level between those of the table ends the capacity where its plan fails", async () => {
  const file = join("policies", "image-classification", "bundle.msgpack");
  const whole = decodeBundle(readFileSync(file)) as RamsisBundle;
  const [lowest, sixth] = [whole.levels[0], whole.levels[6]];
  if (lowest === undefined || sixth === undefined) throw new Error("expected seven levels");
  const expected = { ...sixth.expected, violationRate: 0.5 };
  const failing = { ...lowest, loadQps: sixth.loadQps, feasible: false, expected };
  const levels = whole.levels.map((level, at) => (at === 6 ? failing : level));
  const holed = join(folder, "holed.msgpack");
  writeFileSync(holed, encodeBundle({ ...whole, levels }));
  const { stdout } = await stratagemHere("capacity", holed, "--json");
  expect(JSON.parse(stdout).holdsQps).toBeLessThan(sixth.loadQps);
}, 60_000);

test.each([
  ["--late", "0"],
  ["--late", "100%"],
  ["--confidence", "1"],
  ["--slo", "fast"],
])("refuses %s %s", async (option, value) => {
  const { status, stderr } = await stratagemHere("capacity", bundle, option, value);
  expect([status, stderr.startsWith(`RUNTIME_USAGE expected ${option}`)]).toEqual([64, true]);
});
