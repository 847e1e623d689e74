/** How long plans take by size and demand, and how near the optimum they are proven to be. */
import {
  capacityOf,
  hardwareCapacityOf,
} from "stratagem/internal/methods/loki/solve/plan/capacity";
import type { PlanOptions } from "stratagem/internal/methods/loki/solve/plan/plan-options";
import {
  type PlanResult,
  planPipeline,
} from "stratagem/internal/methods/loki/solve/plan/plan-pipeline";
import type { PipelineProblem } from "stratagem/internal/model/pipeline";
import { lokiProblem, readLokiInput } from "../../../test/support/loki-problem.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { ascending, present } from "../harness/numbers.ts";
import { referencePath } from "../harness/reference.ts";
import { seededPipeline } from "./seeded-pipelines.ts";

const SOLVERS = ["auto", "glpk", "highs"] as const;
/** Runs of a plan that takes longer than this are not repeated, ms. */
const SLOW_MS = 1000;
/** Just above the capacity of the most accurate variants (0), to nearly that of all (1). */
const SHARES = [0.002, 0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 0.9, 0.99, 0.999];

export const solving: Experiment = {
  name: "solving",
  about: "how solving scales",
  takes: "three minutes",
  options: {
    solver: "auto (what is left out), glpk or highs",
    limit: "ms for one plan; 2000",
    only: "instances with this text in their name",
    runs: "of each plan after one that warms up; 3",
  },
  run: measureAll,
};

async function measureAll({ page, flags }: Run): Promise<void> {
  const timeLimitMs = flags.number("limit") ?? 2000;
  const limits = { timeLimitMs, nowMs: () => performance.now() };
  const only = flags.text("only") ?? "";
  const allMs: number[] = [];
  for (const [name, problem] of instances().filter(([own]) => own.includes(only))) {
    const hardware = hardwareCapacityOf(problem, limits).qps;
    const startMs = performance.now();
    const capacity = capacityOf(problem, limits).qps;
    page.say(
      `\n${name}: capacity ${capacity.toFixed(0)} requests/s in ` +
        `${(performance.now() - startMs).toFixed(1)} ms`,
    );
    const demands = SHARES.map((share) => hardware + share * (capacity - hardware));
    const rows: (string | number)[][] = [];
    for (const demandQps of [0.9 * hardware, ...demands].filter((qps) => qps > 0)) {
      for (const solver of flags.among("solver", SOLVERS) ?? ["auto"]) {
        const options = { ...limits, solver };
        const { result, ms } = await timedPlan(problem, demandQps, options, flags.number("runs"));
        rows.push([demandQps.toFixed(1), solver, ms.toFixed(1), ...cellsOf(result)]);
        allMs.push(ms);
      }
    }
    const report = ["status", "gap %", "nodes", "columns"];
    page.table(["QPS", "solver", "ms", "step", ...report], rows);
  }
  const all = ascending(allMs);
  const at = (part: number) => present(all[Math.floor(part * (all.length - 1))]).toFixed(1);
  page.say(`\n${all.length} plans: median ${at(0.5)} ms, p90 ${at(0.9)} ms, max ${at(1)} ms`);
  page.say(`Node ${process.version}, ${process.arch}`);
}

async function timedPlan(
  problem: PipelineProblem,
  demandQps: number,
  options: PlanOptions,
  runs = 3,
): Promise<{ result: PlanResult; ms: number }> {
  const times: number[] = [];
  for (;;) {
    const startMs = performance.now();
    const result = await planPipeline(problem, demandQps, options);
    times.push(performance.now() - startMs);
    if (times.length <= runs && present(times[0]) <= SLOW_MS) continue;
    // The first run warms up unless it is the only one.
    const warm = ascending(times.length > 1 ? times.slice(1) : times);
    return { result, ms: present(warm[Math.floor(warm.length / 2)]) };
  }
}

function cellsOf({ report, plan, step }: PlanResult): (string | number)[] {
  const scale = step === "hardware" ? (plan?.servers ?? 1) : (plan?.accuracy ?? 1);
  const { status, nodes, columns } = report;
  return [step, status, ((100 * report.gap) / scale).toFixed(4), nodes, columns];
}

type Instance = readonly [name: string, problem: PipelineProblem];

function instances(): Instance[] {
  const names = ["traffic_chain", "traffic_tree", "social_media_1500"];
  const synthetic = ["synthetic_2x8x6", "synthetic_3x6x6", "synthetic_3x8x6"];
  const reference = [...names, ...synthetic].map((name): Instance => {
    const input = readLokiInput(referencePath(`loki/inputs/${name}.json`));
    return [name, lokiProblem(input)];
  });
  const wide = { variants: 8, batches: 6, servers: [100] };
  const seeded = [1, 2].flatMap((seed): Instance[] => [
    [`chain 3x8x6 S=100 seed ${seed}`, seededPipeline({ seed, parents: [null, 0, 1], ...wide })],
    [`tree 3x8x6 S=100 seed ${seed}`, seededPipeline({ seed, parents: [null, 0, 0], ...wide })],
    [`chain 4x8x6 S=100 seed ${seed}`, seededPipeline({ seed, parents: [null, 0, 1, 2], ...wide })],
  ]);
  const tree = { parents: [null, 0, 0, 1, 1], variants: 5, batches: 5, servers: [60] };
  const pools = { parents: [null, 0], variants: 8, batches: 6, servers: [50, 30] };
  return [
    ...reference,
    ...seeded,
    ["tree 5x5x5 S=60", seededPipeline({ seed: 3, ...tree })],
    ["chain 2x8x6 pools of 50 and 30", seededPipeline({ seed: 4, ...pools })],
  ];
}
