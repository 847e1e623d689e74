/**
 * One RAMSIS level, build + solve + guarantees: K = 60, 2000 queries/s, SLO 150 ms, nine image
 * variants, N = 32, D = 100.
 */

import { solvePolicy } from "stratagem/internal/methods/ramsis/solve/objective";
import { solveWithin } from "stratagem/internal/methods/ramsis/solve/violation-ceiling";
import {
  admissibleActions,
  buildWorkerMdp,
} from "stratagem/internal/methods/ramsis/solve/worker-mdp";
import type { WorkerProblem } from "stratagem/internal/methods/ramsis/solve/worker-problem";
import { serviceTimesByBatch } from "stratagem/internal/model/service-time";
import { loadApplication } from "stratagem/internal/spec/load-application";
import { bench, describe } from "vitest";

const { application } = loadApplication("policies/image-classification/app.yaml");
const variants = application.tasks[0]?.variants ?? [];
const problem: WorkerProblem = {
  workerCount: 60,
  arrivalRatePerMs: 2,
  crowdedRatePerMs: null,
  dispersion: 1,
  partialBatches: false,
  serviceKnotsMs: null,
  slackMs: Float64Array.from({ length: 101 }, (_, step) => (step * 150) / 100),
  maxQueue: 32,
  variantCount: variants.length,
  accuracy: Float64Array.from(variants, (variant) => variant.accuracy),
  candidates: [...variants.keys()],
  largestBatch: new Uint32Array(variants.length).fill(33),
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
  const buildAt = (at: WorkerProblem) => buildWorkerMdp(at, admissibleActions(at));
  const mdp = buildAt(problem);
  bench("build the process", () => void buildAt(problem), options);
  bench("solve per decision", () => void solvePolicy(mdp, "per-decision"), options);
  bench("solve per query", () => void solvePolicy(mdp, "per-query"), options);
  const crowded = buildAt({ ...problem, arrivalRatePerMs: 3.2 });
  bench(
    "solve within 0.1 % violations at 3200 qps",
    () => void solveWithin(crowded, 1e-3),
    options,
  );
  const partial = { ...problem, partialBatches: true };
  bench("build with variable batching", () => void buildAt(partial), options);
});

/** As many variants as Table 2 of the paper has, between the nine of the image task. */
function interpolated(at: WorkerProblem, variantCount: number): WorkerProblem {
  const byAccuracy = [...at.candidates].sort(
    (a, b) => (at.accuracy[a] ?? 0) - (at.accuracy[b] ?? 0),
  );
  const width = at.maxQueue + 1;
  const accuracy = new Float64Array(variantCount);
  const serviceMs = new Float64Array(variantCount * width);
  for (let variant = 0; variant < variantCount; variant++) {
    const place = (variant / (variantCount - 1)) * (byAccuracy.length - 1);
    const left = Math.min(byAccuracy.length - 2, Math.floor(place));
    const [low = 0, high = 0] = byAccuracy.slice(left, left + 2);
    const between = (a = 0, b = 0): number => a + (place - left) * (b - a);
    accuracy[variant] = between(at.accuracy[low], at.accuracy[high]);
    for (let cell = 0; cell < width; cell++) {
      const [a, b] = [at.serviceMs[low * width + cell], at.serviceMs[high * width + cell]];
      serviceMs[variant * width + cell] = between(a, b);
    }
  }
  const candidates = [...accuracy.keys()];
  const largestBatch = new Uint32Array(variantCount).fill(width);
  return { ...at, variantCount, accuracy, candidates, largestBatch, serviceMs };
}

describe("one level of 60 variants at K = 60, 2000 qps", () => {
  const options = { time: 3000, warmupTime: 500 };
  const wide = interpolated(problem, 60);
  bench(
    "build and solve per query",
    () => {
      solvePolicy(buildWorkerMdp(wide, admissibleActions(wide)), "per-query");
    },
    options,
  );
});
