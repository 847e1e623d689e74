/** The production trace of the paper: policies against baselines, and what they gain. */
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent } from "../harness/numbers.ts";
import { referencePath } from "../harness/reference.ts";
import {
  compileApp,
  FROM_QPS,
  type Outcome,
  POLICY_OPTION,
  type PolicySpec,
  policiesOf,
  policyText,
  roundRobin,
  simulate,
  TO_QPS,
} from "./apps.ts";

const WORKERS = [60, 70, 80];
/** The paper profiles its baselines every 100 queries/s; closer is in their favour. */
const BASELINE_STEP_QPS = 25;
/** Points of accuracy that the paper's artifact prints for this experiment: mean and highest. */
const ARTIFACT_GAINS = {
  jellyfish: ["5.70", "8.07"],
  "model-switching": ["3.48", "4.63"],
} as const;
type BaselineName = keyof typeof ARTIFACT_GAINS;
const BASELINES = Object.keys(ARTIFACT_GAINS) as BaselineName[];

/** Of a policy over a baseline, in accuracy per satisfied query. */
interface Gain {
  readonly policy: PolicySpec;
  readonly over: BaselineName;
  readonly points: number;
  readonly relative: number;
}

export const trace: Experiment = {
  name: "trace",
  about: "the recorded trace with 60, 70 and 80 workers, beside Jellyfish+ and ModelSwitching",
  takes: "one and a half minutes",
  options: { ...POLICY_OPTION, step: "queries/s between levels, of policies and baselines" },
  run: compareAll,
};

async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const file = referencePath("traces/twitter-2018-04-25-5min.txt");
  const policies = policiesOf(flags) ?? [{}];
  const step = flags.number("step");
  const between = { from: FROM_QPS, to: TO_QPS };
  const rows: (string | number)[][] = [];
  const gains: Gain[] = [];
  for (const workers of WORKERS) {
    // Only the loads of this bundle matter, so its policy is solved on the coarsest grid.
    const loads = { ...between, step: step ?? BASELINE_STEP_QPS };
    const { path } = await compileApp(folder, workers, loads, roundRobin(4));
    const baselines: [BaselineName, Outcome][] = [];
    for (const name of BASELINES) {
      baselines.push([
        name,
        await simulate(path, "--arrivals", `trace:${file}`, "--baseline", name),
      ]);
    }
    for (const [name, run] of baselines) rows.push(cellsOf(workers, name, run));
    for (const policy of policies) {
      // So close, unless told otherwise, that neighbours differ by less than 1 % in accuracy.
      const distance = step === undefined ? { maxAccuracyStep: "1%" } : { step };
      const own = await compileApp(folder, workers, { ...between, ...distance }, policy);
      const time = `${own.levels.length} levels in ${Math.round(own.compileMs)} ms`;
      page.say(`${workers} workers, ${policyText(policy)}: ${time}`);
      const run = await simulate(own.path, "--arrivals", `trace:${file}`);
      rows.push(cellsOf(workers, policyText(policy), run));
      gains.push(...baselines.map(([over, baseline]) => gainOf(policy, run, over, baseline)));
    }
  }
  page.say("\ntwitter-2018-04-25, SLO 150 ms");
  page.table(["workers", "who", "accuracy/satisfied", "accuracy/query", "violations"], rows);
  page.say();
  const artifact = ["artifact: mean", "highest"];
  page.table(
    ["who over whom", "points: mean", "highest", ...artifact, "relative: mean", "highest"],
    policies.flatMap((policy) => BASELINES.map((over) => gainCells(policy, over, gains))),
  );
}

function cellsOf(workers: number, who: string, run: Outcome): (string | number)[] {
  const { accuracyPerSatisfied, accuracyPerQuery, violationRate } = run;
  const cells = [accuracyPerSatisfied, accuracyPerQuery, violationRate];
  return [workers, who, ...cells.map((value) => percent(value, 3))];
}

function gainOf(policy: PolicySpec, run: Outcome, over: BaselineName, baseline: Outcome): Gain {
  const difference = run.accuracyPerSatisfied - baseline.accuracyPerSatisfied;
  const relative = difference / baseline.accuracyPerSatisfied;
  return { policy, over, points: 100 * difference, relative: 100 * relative };
}

function gainCells(policy: PolicySpec, over: BaselineName, gains: readonly Gain[]): string[] {
  const own = gains.filter((gain) => gain.policy === policy && gain.over === over);
  const both = (values: number[]) =>
    [mean(values), Math.max(...values)].map((value) => value.toFixed(2));
  return [
    `${policyText(policy)} over ${over}`,
    ...both(own.map((gain) => gain.points)),
    ...ARTIFACT_GAINS[over],
    ...both(own.map((gain) => gain.relative)),
  ];
}
