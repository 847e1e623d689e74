/**
 * Short seeded simulations of the levels under every scheduler: compares the bundle's with those
 * whose queries keep their places.
 */
import type {
  AccordionBundle,
  AccordionLevel,
  SchedulerName,
} from "stratagem-runtime/internal/bundle/schema";
import { steadyArrivals } from "../../../simulate/arrivals.ts";
import { type AccordionSimulationResult, simulateAccordion } from "../simulate/simulate.ts";
import { spread } from "./spread.ts";

/** The scheduler that moves running queries to other places. */
const MALLEABLE: SchedulerName = "accordion";

/** The malleable one, then the baselines. Source: Accordion §4.2. */
export const SCHEDULERS: readonly SchedulerName[] = [
  MALLEABLE,
  "slo-conforming",
  "fastest",
  "bbs",
  "one-stage",
];
/** Returns whether running queries may get other places. */
export function isMalleable(scheduler: SchedulerName): boolean {
  return scheduler === MALLEABLE;
}

/**
 * Maximum queries of all runs together, about a second of simulation; more make every run shorter.
 */
const MAX_QUERIES = 200_000;
/** Maximum number of compared levels, evenly spread. */
const MAX_LEVELS = 12;

export interface ScheduledRun {
  readonly loadQps: number;
  readonly scheduler: SchedulerName;
  readonly result: AccordionSimulationResult;
}

interface PlannedSchedule {
  readonly level: AccordionLevel;
  readonly scheduler: SchedulerName;
  readonly durationMs: number;
}

/**
 * Plans the runs of a report: at each load all schedulers get the same queries, those of the
 * level's own simulation or the first of them.
 */
export function planSchedules({ levels, policy }: AccordionBundle): PlannedSchedule[] {
  const own = policy.scheduler;
  const schedulers = [own, ...SCHEDULERS.filter((scheduler) => scheduler !== own)];
  const compared = spread(levels, MAX_LEVELS);
  const queries = compared.reduce(
    (sum, { loadQps, expected }) => sum + (loadQps * expected.durationMs) / 1000,
    0,
  );
  const share = Math.min(1, MAX_QUERIES / (queries * schedulers.length));
  return compared.flatMap((level) => {
    const durationMs = Math.max(1, Math.round(share * level.expected.durationMs));
    return schedulers.map((scheduler) => ({ level, scheduler, durationMs }));
  });
}

/**
 * @param onRun called after each run; awaiting in it lets signals through, throwing in it ends the
 * work.
 */
export async function runSchedules(
  bundle: AccordionBundle,
  plan: readonly PlannedSchedule[],
  onRun: () => Promise<void>,
): Promise<ScheduledRun[]> {
  const done: ScheduledRun[] = [];
  for (const { level, scheduler, durationMs } of plan) {
    const { loadQps, expected } = level;
    const scheduled = { ...bundle, policy: { ...bundle.policy, scheduler } };
    const arrivals = steadyArrivals(bundle.arrivals, loadQps);
    const result = simulateAccordion(scheduled, { arrivals, durationMs, seed: expected.seed });
    done.push({ loadQps, scheduler, result });
    await onRun();
  }
  return done;
}
