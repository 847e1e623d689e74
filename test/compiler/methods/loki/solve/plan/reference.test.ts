import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  capacityOf,
  hardwareCapacityOf,
} from "../../../../../../compiler/methods/loki/solve/plan/capacity.ts";
import { planPipeline } from "../../../../../../compiler/methods/loki/solve/plan/plan-pipeline.ts";
import { lokiProblem, readLokiInput } from "../../../../../support/loki-problem.ts";

const reference = process.env["STRATAGEM_REFERENCE"];

interface ReferenceTable {
  readonly capacityQps: {
    readonly hardwareScalingOnly: number;
    readonly withAccuracyScaling: number;
  };
  readonly table: readonly {
    readonly demandQps: number;
    readonly feasible: boolean;
    readonly step?: "hardware" | "accuracy";
    readonly accuracy?: number;
    readonly servers?: number;
  }[];
}

// The reference was solved by SciPy's HiGHS in two formulations that agree; its figures are rounded
// to 9 (accuracy) and 4 (QPS) decimals.
for (const name of ["traffic_chain", "traffic_tree", "social_media_1500"]) {
  test.skipIf(reference === undefined)(
    `reproduces every row of the ${name} table (skipped without STRATAGEM_REFERENCE)`,
    async () => {
      const folder = join(String(reference), "loki");
      const { capacityQps, table } = JSON.parse(
        readFileSync(join(folder, `${name}.json`), "utf8"),
      ) as ReferenceTable;
      const problem = lokiProblem(readLokiInput(join(folder, "inputs", `${name}.json`)));
      const limits = { timeLimitMs: 10_000 };
      const hardware = hardwareCapacityOf(problem, limits).qps;
      const all = capacityOf(problem, limits).qps;
      expect(Math.abs(hardware / capacityQps.hardwareScalingOnly - 1)).toBeLessThan(1e-3);
      expect(Math.abs(all / capacityQps.withAccuracyScaling - 1)).toBeLessThan(1e-3);
      expect(table.length).toBeGreaterThan(20);
      for (const row of table) {
        const { plan, step, report } = await planPipeline(problem, row.demandQps, {
          ...limits,
          solver: "auto",
        });
        const label = `${row.demandQps} QPS`;
        expect(report.status, label).toBe(row.feasible ? "optimal" : "infeasible");
        expect(plan !== null, label).toBe(row.feasible);
        if (plan === null || row.accuracy === undefined) continue;
        expect(step, label).toBe(row.step);
        expect(Math.abs(plan.accuracy - row.accuracy), label).toBeLessThan(1e-6);
        if (step === "hardware") expect(plan.servers, label).toBe(row.servers);
      }
    },
  );
}
