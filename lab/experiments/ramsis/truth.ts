/** Expectation against simulation, one level to a bundle: its table is on trial. */
import type { Expected } from "stratagem-runtime/internal/bundle/schema";
import type { Experiment, Run } from "../harness/experiment.ts";
import { mean, percent, rate, standardError, sum } from "../harness/numbers.ts";
import { overSeeds, seedsTo } from "../harness/seeds.ts";
import {
  compileApp,
  POLICY_OPTION,
  type PolicySpec,
  policiesOf,
  policyText,
  roundRobin,
  simulateSteady,
} from "./apps.ts";

const EXIT_NOT_VERIFIED = 3;

/** Workers and load of points below capacity, from lightly loaded to the highest feasible. */
const POINTS = [
  [20, 300],
  [20, 800],
  [40, 800],
  [40, 1600],
  [60, 1200],
  [60, 2000],
  [60, 2800],
  [60, 3200],
  [80, 3200],
  [100, 4000],
] as const;
/** Of each point so many runs, whose spread gives the standard error: late queries cluster. */
const SEEDS = seedsTo(6);
const SECONDS_PER_SEED = 60;
const MAX_ACCURACY_ERROR = 0.002;

interface Point {
  readonly workers: number;
  readonly loadQps: number;
  readonly expected: Expected;
  readonly accuracy: number;
  readonly accuracyError: number;
  readonly violationRate: number;
  readonly error: number;
  readonly holds: boolean;
}

export const truth: Experiment = {
  name: "truth",
  about: "what levels state beside what a simulation counts",
  takes: "two and a half minutes",
  options: POLICY_OPTION,
  run: compareAll,
};

/** Ends with an exit code if a point of the last policy does not hold. */
async function compareAll({ page, flags, folder }: Run): Promise<void> {
  const policies = policiesOf(flags) ?? [roundRobin(100), roundRobin(400), {}];
  for (const policy of policies) {
    const points: Point[] = [];
    for (const [workers, loadQps] of POINTS) {
      points.push(await comparePoint(folder, workers, loadQps, policy));
    }
    const runs = `${SEEDS.length} × ${SECONDS_PER_SEED} s`;
    page.say(`\nexpected and simulated, ${runs}, ${policyText(policy)}`);
    const accuracies = ["accuracy", "simulated", "difference"];
    const rates = ["violations", "simulated", "std error"];
    page.table(["workers", "load", ...accuracies, ...rates, "holds"], points.map(cellsOf));
    const held = points.filter(({ holds }) => holds).length;
    page.say(`${held} of ${points.length} hold`);
    if (policy === policies.at(-1) && held < points.length) process.exitCode = EXIT_NOT_VERIFIED;
  }
}

async function comparePoint(
  folder: string,
  workers: number,
  loadQps: number,
  policy: PolicySpec,
): Promise<Point> {
  const { path, expected } = await compileApp(folder, workers, [loadQps], policy);
  const runs = await overSeeds(SEEDS, (seed) =>
    simulateSteady(path, loadQps, SECONDS_PER_SEED, seed),
  );
  const satisfied = sum(runs.map((run) => run.satisfied));
  const accuracy = sum(runs.map((run) => run.accuracyPerSatisfied * run.satisfied)) / satisfied;
  const rates = runs.map((run) => run.violationRate);
  const violationRate = mean(rates);
  const error = standardError(rates);
  const accuracyError = accuracy - expected.accuracyPerSatisfied;
  const holds =
    Math.abs(accuracyError) <= MAX_ACCURACY_ERROR &&
    violationRate <= expected.violationRate + 3 * error;
  return { workers, loadQps, expected, accuracy, accuracyError, violationRate, error, holds };
}

function cellsOf(point: Point): (string | number)[] {
  return [
    point.workers,
    point.loadQps,
    percent(point.expected.accuracyPerSatisfied, 3),
    percent(point.accuracy, 3),
    percent(point.accuracyError, 3),
    rate(point.expected.violationRate),
    rate(point.violationRate),
    rate(point.error),
    point.holds ? "yes" : "NO",
  ];
}
