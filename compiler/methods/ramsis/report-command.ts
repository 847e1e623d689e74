/**
 * `stratagem report BUNDLE` of decision tables: simulations of its levels, and the cost of other
 * ceilings.
 */
import type { RamsisBundle, RamsisLevel } from "stratagem-runtime/internal/bundle/schema";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import type { RamsisFrame } from "../../model/frames.ts";
import { solveInProcess } from "../../processes/level-pool.ts";
import type { Report, ReportRequest } from "../method.ts";
import { frontierCeilings, frontierLoadQps, traceFrontier } from "./report/frontier.ts";
import { latencyPrices, traceLatencies } from "./report/latency-frontier.ts";
import { renderRamsisReport } from "./report/report.ts";
import { planSimulations, runSimulations, type SimulatedRun } from "./report/simulated-levels.ts";
import { readSimulation } from "./report/simulation-file.ts";

/** @throws InputError for a simulation that cannot be read. */
export async function reportRamsis(bundle: RamsisBundle, asked: ReportRequest): Promise<Report> {
  const { file, signal } = asked;
  const simulations = asked.simulations.map(readSimulation);
  const plan = planSimulations(bundle);
  const loadQps = frontierLoad(bundle, asked.frontierQps);
  const solved = frontierCeilings(bundle).length + latencyPrices(bundle).length;
  const total = plan.runs.length + (loadQps === null ? 0 : solved);
  const advance = asked.progress(total);
  const runs = await runSimulations(bundle, plan, advance);
  const solve = async (frame: RamsisFrame, qps: number): Promise<RamsisLevel> => {
    const level = await solveInProcess<RamsisLevel>(frame, qps, signal);
    await advance();
    return level;
  };
  const frontier = loadQps === null ? null : await traceFrontier(bundle, loadQps, solve);
  const latencies = loadQps === null ? null : await traceLatencies(bundle, loadQps, solve);
  const content = { bundle, file, plan, runs, frontier, latencies, simulations };
  return { page: renderRamsisReport(content), runs: runs.map(outcomeOf), frontier };
}

function outcomeOf({ loadQps, variant, result: one }: SimulatedRun): object {
  const { byLevel: _, ...outcome } = one;
  return { loadQps, variant, ...outcome };
}

function frontierLoad(bundle: RamsisBundle, asked: ReportRequest["frontierQps"]): number | null {
  if (asked === false) return null;
  if (asked === null) return frontierLoadQps(bundle);
  return bundle.levels[levelForLoad(bundle.levels, asked)]?.loadQps ?? null;
}
