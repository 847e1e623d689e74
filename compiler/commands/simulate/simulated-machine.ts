/** Describes the machine of `simulate`, and the promises for it, as text and as data. */

import type { Bundle, Level, PaceFigures } from "stratagem-runtime/internal/bundle/schema";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { figuresAtPace, pacePromisesOf } from "stratagem-runtime/internal/describe/pace-promises";
import { counted, percent, short } from "stratagem-runtime/internal/describe/text";
import type { ArrivalProcess } from "../../simulate/arrivals.ts";
import type { MachineState } from "../../simulate/serving/machine-state.ts";

interface SimulatedMachine {
  /** Undefined for a machine as profiled. */
  readonly machine: MachineState | undefined;
  /** True if decisions follow the measured pace. */
  readonly adapts: boolean;
}

/**
 * Formats `machine: pace 1.5, slow 50 % of the time by 2 for 200 ms on average; the policy adapts`.
 */
export function machineText(machine: MachineState, adapts: boolean): string {
  const { pace, slow, workerPaces, lost } = machine;
  const parts = [
    ...(pace === 1 ? [] : [`pace ${short(pace)}`]),
    ...(slow === null
      ? []
      : [
          `slow ${short(100 * slow.share)} % of the time by ${short(slow.factor)} for ` +
            `${short(slow.spellMs)} ms on average`,
        ]),
    ...[...workerPaces].map(([worker, own]) => `worker ${worker} at pace ${short(own)}`),
    ...(lost === null
      ? []
      : [`${counted(lost.workers, "worker")} lost at ${short(lost.atMs / 1000)} s`]),
  ];
  const how = adapts ? "the policy adapts" : "decisions do not adapt";
  return `machine: ${parts.length === 0 ? "as profiled" : parts.join(", ")}; ${how}`;
}

/** Worker paces by index. */
export function machineJson({ machine, adapts }: SimulatedMachine): object {
  if (machine === undefined) return { machine: null, adapts };
  const { workerPaces, ...rest } = machine;
  return { machine: { ...rest, workerPaces: Object.fromEntries(workerPaces) }, adapts };
}

/** Promise of the level for a steady load, on a machine of one constant pace. */
interface PromisedAtPace {
  readonly loadQps: number;
  readonly pace: number;
  /** Undefined beyond the paces of the level. */
  readonly figures: PaceFigures | undefined;
}

/** Returns undefined if the bundle has no such promises. */
export function promisedAtPace(
  bundle: Bundle,
  arrivals: ArrivalProcess,
  { machine, adapts }: SimulatedMachine,
): PromisedAtPace | undefined {
  if (machine === undefined || !adapts || arrivals.kind === "trace") return undefined;
  const { pace, slow, workerPaces, lost } = machine;
  if (pace <= 1 || slow !== null || workerPaces.size > 0 || lost !== null) return undefined;
  const levels: readonly Level[] = bundle.levels;
  const level = levels[levelForLoad(levels, arrivals.qps)];
  const byPace = level === undefined ? undefined : pacePromisesOf(level).byPace;
  if (level === undefined || byPace === undefined) return undefined;
  return { loadQps: level.loadQps, pace, figures: figuresAtPace(byPace, pace) };
}

/** Formats `expected at 860 qps and pace 1.5: accuracy/query 97.9%, violations 0.01%, p50 …`. */
export function promisedText({ loadQps, pace, figures }: PromisedAtPace): string {
  const where = `expected at ${short(loadQps)} qps and pace ${short(pace)}`;
  if (figures === undefined) return `${where}: no promise for this pace`;
  const { accuracyPerQuery, violationRate, p50, p99 } = figures;
  const stated = figures.pace === pace ? "" : `, promised for pace ${short(figures.pace)}`;
  return (
    `${where}${stated}: accuracy/query ${percent(accuracyPerQuery)}, ` +
    `violations ${percent(violationRate)}, p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms`
  );
}
