/** Every row of the reference's tables beside what is compiled here. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { present } from "../harness/numbers.ts";
import { readReference } from "../harness/reference.ts";
import {
  type CompileReport,
  compileReport,
  type PipelineName,
  ReferenceApps,
} from "./reference-apps.ts";

type ReferenceRow = { readonly demandQps: number } & (
  | { readonly feasible: false }
  | {
      readonly feasible: true;
      readonly step: string;
      readonly servers: number;
      readonly accuracy: number;
    }
);

interface ReferenceTable {
  readonly table: readonly ReferenceRow[];
  readonly capacityQps: { readonly withAccuracyScaling: number };
}

export const plans: Experiment = {
  name: "plans",
  about: "every reference optimum beside ours",
  takes: "half a minute",
  run: async (run) => {
    const apps = new ReferenceApps(run.folder);
    for (const name of ["traffic_chain", "traffic_tree", "social_media_1500"] as const) {
      await comparePlans(run, apps, name);
    }
  },
};

async function comparePlans({ page }: Run, apps: ReferenceApps, name: PipelineName): Promise<void> {
  const expected = readReference<ReferenceTable>(`loki/${name}.json`);
  const rows = expected.table;
  const app = apps.write(name, { loads: rows.map(({ demandQps }) => demandQps) });
  const { levels, compileMs } = await compileReport(app);
  page.say(`\n${name}: ${rows.length} loads in ${Math.round(compileMs)} ms, reference | here`);
  const compared = rows.map((row, index) => compareRow(row, present(levels[index])));
  const pairs = ["step", "", "servers", "", "accuracy", ""];
  page.table(
    ["qps", ...pairs, "proof", "ms", ""],
    compared.map(({ cells }) => cells),
  );
  const last = present(levels.at(-1));
  const found = last.feasible ? Number.NaN : last.capacityQps;
  const wrong = compared.filter(({ isSame }) => !isSame).length;
  const capacity = expected.capacityQps.withAccuracyScaling;
  page.say(`capacity ${capacity} | ${found.toFixed(2)}; ${wrong} rows differ`);
}

function compareRow(row: ReferenceRow, level: CompileReport["levels"][number]) {
  const plan = level.feasible ? present(level.plan) : null;
  const isSame = row.feasible
    ? plan !== null &&
      plan.step === row.step &&
      Math.abs(plan.accuracy - row.accuracy) <= 1e-6 &&
      (plan.step !== "hardware" || plan.servers === row.servers)
    : plan === null;
  const cells = [
    row.demandQps,
    row.feasible ? row.step : "infeasible",
    plan?.step ?? "infeasible",
    row.feasible ? row.servers : "-",
    plan?.servers ?? "-",
    row.feasible ? row.accuracy.toFixed(6) : "-",
    plan?.accuracy.toFixed(6) ?? "-",
    level.solve.status,
    level.solve.ms.toFixed(0),
    isSame ? "same" : "DIFFERS",
  ];
  return { cells, isSame };
}
