import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { stratagemHere } from "../support/cli-here.ts";

const reference = process.env["STRATAGEM_REFERENCE"];
const folder = mkdtempSync(join(tmpdir(), "stratagem-golden-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface GoldenRow {
  readonly task: string;
  readonly workers: number;
  readonly loadQps: number;
  readonly sloMs: number;
  readonly accuracyPerSatisfied: number;
  readonly violationRate: number;
}

test.skipIf(reference === undefined)(
  "reproduces every row of the published artifact (skipped without STRATAGEM_REFERENCE)",
  async () => {
    const { rows } = JSON.parse(
      readFileSync(join(String(reference), "ramsis/golden.json"), "utf8"),
    ) as { rows: GoldenRow[] };
    expect(rows.length).toBeGreaterThanOrEqual(3);
    for (const row of rows) {
      const { expected } = await compileRow(row);
      // The artifact stops after 100 sweeps and 1000 power iterations; its own error is below
      // these.
      expect(Math.abs(expected.accuracyPerSatisfied - row.accuracyPerSatisfied)).toBeLessThan(1e-9);
      expect(Math.abs(expected.violationRate - row.violationRate)).toBeLessThan(1e-7);
    }
  },
);

async function compileRow({ task, workers, loadQps, sloMs }: GoldenRow) {
  const out = join(folder, `${task}-${workers}-${loadQps}-${sloMs}`);
  const values = { task, workers, slo: sloMs, loads: loadQps, out };
  const policy = JSON.stringify({ objective: "per-decision", balancer: "round-robin" });
  execFileSync(process.execPath, [
    join(String(reference), "apps.mjs"),
    "ramsis",
    ...Object.entries(values).flatMap(([key, value]) => [`--${key}`, String(value)]),
    "--policy",
    policy,
  ]);
  const app = join(out, "app.yaml");
  const { status, stdout, stderr } = await stratagemHere(
    "compile",
    app,
    "-o",
    join(out, "b"),
    "--json",
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return JSON.parse(stdout).levels[0] as {
    expected: { accuracyPerSatisfied: number; violationRate: number };
  };
}
