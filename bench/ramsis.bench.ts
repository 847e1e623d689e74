/** One RAMSIS level, build + solve + guarantees: K = 60, 2000 queries/s, SLO 150 ms, nine image variants, N = 32, D = 100. */
import { bench, describe } from "vitest";
import { serviceTimesByBatch } from "../compiler/model/service-time.ts";
import { solvePolicy } from "../compiler/solvers/ramsis/objective.ts";
import { admissibleVariants, buildWorkerMdp } from "../compiler/solvers/ramsis/worker-mdp.ts";
import type { WorkerProblem } from "../compiler/solvers/ramsis/worker-problem.ts";
import { loadApplication } from "../compiler/spec/load-application.ts";

const { application } = loadApplication("policies/image-classification/app.yaml");
const variants = application.tasks[0]?.variants ?? [];
const problem: WorkerProblem = {
  workerCount: 60,
  arrivalRatePerMs: 2,
  slackMs: Float64Array.from({ length: 101 }, (_, step) => (step * 150) / 100),
  maxQueue: 32,
  variantCount: variants.length,
  accuracy: Float64Array.from(variants, (variant) => variant.accuracy),
  candidates: [...variants.keys()],
  serviceMs: Float64Array.from(
    variants.flatMap(({ profile }) => [
      ...serviceTimesByBatch(
        profile.rows.map((row) => ({ batch: row.batch, ms: row.latencyMs })),
        33,
      ),
    ]),
  ),
};

describe("one level at K = 60, 2000 qps", () => {
  const options = { time: 3000, warmupTime: 500 };
  const build = () => buildWorkerMdp(problem, admissibleVariants(problem));
  const mdp = build();
  bench("build the process", () => void build(), options);
  bench("solve per decision", () => void solvePolicy(mdp, "per-decision"), options);
  bench("solve per query", () => void solvePolicy(mdp, "per-query"), options);
});
