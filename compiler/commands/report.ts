/** `stratagem report BUNDLE -o report.html`: a bundle as one page for people. */
import { createHash } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import type {
  AccordionBundle,
  Bundle,
  InferlineBundle,
  LokiBundle,
  RamsisBundle,
  RamsisLevel,
  ThemisBundle,
} from "../../runtime/bundle/schema.ts";
import type { CommandResult } from "../../runtime/commands/command-result.ts";
import { levelForLoad } from "../../runtime/core/level-choice.ts";
import { EXIT_CODES, RuntimeError } from "../../runtime/errors.ts";
import { loadBundle } from "../../runtime/load-bundle.ts";
import { writeAtomically } from "../atomic-write.ts";
import { type LevelPoolOptions, runInWorkers } from "../levels/level-pool.ts";
import { renderPlaceReport } from "../methods/accordion/report/place-report.ts";
import {
  planSchedules,
  runSchedules,
  type ScheduledRun,
} from "../methods/accordion/report/simulated-schedulers.ts";
import { renderStageReport } from "../methods/inferline/report/stage-report.ts";
import { renderPipelineReport } from "../methods/loki/report/pipeline-report.ts";
import {
  type Frontier,
  frontierCeilings,
  frontierLoadQps,
  traceFrontier,
} from "../methods/ramsis/report/frontier.ts";
import { renderReport } from "../methods/ramsis/report/report.ts";
import {
  planSimulations,
  runSimulations,
  type SimulatedRun,
} from "../methods/ramsis/report/simulated-levels.ts";
import { readSimulation } from "../methods/ramsis/report/simulation-file.ts";
import type { RamsisFrame } from "../methods/solver.ts";
import { renderScaleReport } from "../methods/themis/report/scale-report.ts";

export interface ReportCommand {
  readonly bundle: string;
  readonly out: string;
  /** Files that `simulate --json` printed. */
  readonly simulations: readonly string[];
  /** Load to solve again under other ceilings; null for the highest that is feasible, false for none. */
  readonly frontierQps: number | null | false;
  readonly watch: Pick<LevelPoolOptions, "signal" | "onProgress">;
}

/** @throws BundleError or RuntimeError for the bundle, InputError for a simulation, UnwritableError for the output. */
export async function reportCommand(command: ReportCommand): Promise<CommandResult> {
  const { bundle, ...file } = await loadBundle(command.bundle);
  if (bundle.method === "ramsis") return reportTables(command, bundle, file);
  return bundle.method === "accordion"
    ? reportPlaces(command, bundle, file)
    : reportPlans(command, bundle, file);
}

interface BundleFile {
  readonly byteCount: number;
  readonly sha256: string;
}

async function reportPlans(
  command: ReportCommand,
  bundle: LokiBundle | InferlineBundle | ThemisBundle,
  file: BundleFile,
): Promise<CommandResult> {
  refuseTableOptions(command, "plans");
  const page = Buffer.from(planPage(bundle, file));
  command.watch.signal.throwIfAborted();
  await writeAtomically(command.out, page);
  return result(command.out, page, bundle, { sha256: file.sha256 });
}

function planPage(bundle: LokiBundle | InferlineBundle | ThemisBundle, file: BundleFile): string {
  if (bundle.method === "loki") return renderPipelineReport({ bundle, file });
  return bundle.method === "themis"
    ? renderScaleReport({ bundle, file })
    : renderStageReport({ bundle, file });
}

async function reportPlaces(
  command: ReportCommand,
  bundle: AccordionBundle,
  file: BundleFile,
): Promise<CommandResult> {
  refuseTableOptions(command, "malleable pipelines");
  const plan = planSchedules(bundle);
  const advance = progressOf(command, plan.length);
  const runs = await runSchedules(bundle, plan, advance);
  const page = Buffer.from(renderPlaceReport({ bundle, file, runs }));
  command.watch.signal.throwIfAborted();
  await writeAtomically(command.out, page);
  return result(command.out, page, bundle, {
    sha256: file.sha256,
    runs: runs.map(scheduledOutcome),
  });
}

function scheduledOutcome({ loadQps, scheduler, result: one }: ScheduledRun): object {
  const { timeline: _, latencyMsByQuery: __, ...outcome } = one;
  return { loadQps, scheduler, ...outcome };
}

/** Counts what is done, and lets a signal be delivered, which synchronous work would hold back. */
function progressOf(
  { watch: { signal, onProgress } }: ReportCommand,
  total: number,
): () => Promise<void> {
  let done = 0;
  return async () => {
    onProgress(++done, total);
    await setImmediate();
    signal.throwIfAborted();
  };
}

/** Leaving the frontier out is granted: there is none. @throws RuntimeError for an option that asks for what there is of tables alone. */
function refuseTableOptions(
  { bundle, simulations, frontierQps }: ReportCommand,
  kind: string,
): void {
  const option =
    simulations.length > 0 ? "--simulation" : typeof frontierQps === "number" ? "--frontier" : null;
  if (option === null) return;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `${option}: expected a bundle of decision tables, got ${bundle}, one of ${kind}, whose page shows what its levels hold and nothing beside; leave the option out`,
  );
}

async function reportTables(
  command: ReportCommand,
  bundle: RamsisBundle,
  file: BundleFile,
): Promise<CommandResult> {
  const simulations = command.simulations.map(readSimulation);
  const { signal } = command.watch;
  const plan = planSimulations(bundle);
  const loadQps = frontierLoad(bundle, command.frontierQps);
  const total = plan.runs.length + (loadQps === null ? 0 : frontierCeilings(bundle).length);
  const advance = progressOf(command, total);
  const runs = await runSimulations(bundle, plan, advance);
  const solve = async (frame: RamsisFrame, qps: number): Promise<RamsisLevel> => {
    const level = await solveInThread(frame, qps, signal);
    await advance();
    return level;
  };
  const frontier = loadQps === null ? null : await traceFrontier(bundle, loadQps, solve);
  const page = Buffer.from(renderReport({ bundle, file, plan, runs, frontier, simulations }));
  signal.throwIfAborted();
  await writeAtomically(command.out, page);
  return result(command.out, page, bundle, {
    sha256: file.sha256,
    runs: runs.map(simulatedOutcome),
    frontier,
  });
}

function simulatedOutcome({ loadQps, variant, result: one }: SimulatedRun): object {
  const { byLevel: _, ...outcome } = one;
  return { loadQps, variant, ...outcome };
}

function frontierLoad(bundle: RamsisBundle, asked: ReportCommand["frontierQps"]): number | null {
  if (asked === false) return null;
  if (asked === null) return frontierLoadQps(bundle);
  return bundle.levels[levelForLoad(bundle.levels, asked)]?.loadQps ?? null;
}

async function solveInThread(
  frame: RamsisFrame,
  loadQps: number,
  signal: AbortSignal,
): Promise<RamsisLevel> {
  const [reply] = await runInWorkers(frame, [{ kind: "solve", loadQps }], {
    jobs: 1,
    signal,
    onProgress() {},
  });
  if (reply?.kind !== "solved") throw new TypeError("a solve request is answered with a level");
  return reply.level as RamsisLevel;
}

function result(
  path: string,
  page: Buffer,
  bundle: Bundle,
  {
    sha256,
    runs = [],
    frontier = null,
  }: { sha256: string; runs?: readonly object[]; frontier?: Frontier | null },
): CommandResult {
  return {
    exitCode: EXIT_CODES.ok,
    text: `${path}: ${page.length} bytes, ${bundle.levels.length} levels of ${bundle.application}; open it in a browser`,
    json: {
      report: {
        path,
        bytes: page.length,
        sha256: createHash("sha256").update(page).digest("hex"),
      },
      application: bundle.application,
      bundle: { sha256 },
      runs,
      frontier,
    },
  };
}
