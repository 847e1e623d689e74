/** `stratagem simulate BUNDLE` of a pipeline: its plans, or a baseline's, on a virtual clock. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { LokiBundle, LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { percent } from "stratagem-runtime/internal/describe/text";
import { type LevelPoolOptions, runInWorkers } from "../../processes/level-pool.ts";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import type { NamedBaseline, SimulationRequest } from "../method.ts";
import {
  type ComparedRow,
  runReport,
  shortOrDash,
  stated,
  steadyLevel,
  tenths,
} from "../run-report.ts";
import { simulateLoki } from "./simulate/simulate.ts";
import { type LokiBaseline, PIPELINE_BASELINES } from "./solve/baseline-plan.ts";

/** @throws RuntimeError for a baseline of another kind of bundle. */
export async function simulateLokiCommand(
  bundle: LokiBundle,
  { baseline, ...options }: SimulationRequest,
  watch: SimulateWatch,
): Promise<CommandResult> {
  const simulated = baseline === null ? bundle : await replanned(bundle, baseline, watch);
  const startMs = watch.nowMs();
  const result = simulateLoki(simulated, options);
  const wallMs = watch.nowMs() - startMs;
  const level = baseline === null ? steadyLevel(bundle.levels, options.arrivals) : null;
  const { servers, planSwitches, modelLoads } = result;
  const row = (
    label: string,
    key: "accuracyPerSatisfied" | "accuracyPerQuery" | "violationRate",
  ): ComparedRow => [label, percent(result[key]), stated(level?.expected[key], percent)];
  return runReport(result, {
    wallMs,
    level,
    expected: level?.expected,
    lines: [
      `servers: mean ${tenths(servers.mean)}, at most ${servers.max}; ` +
        `${planSwitches} changes of plan, ${modelLoads} model loads`,
    ],
    rows: [
      row("accuracy/satisfied", "accuracyPerSatisfied"),
      row("accuracy/query", "accuracyPerQuery"),
      row("violations", "violationRate"),
    ],
    tables: [
      [
        ["task", "queries", "dropped", "mean batch"],
        ...Object.entries(result.byTask).map(([name, { queries, dropped, meanBatch }]) => [
          name,
          String(queries),
          String(dropped),
          shortOrDash(meanBatch),
        ]),
      ],
    ],
  });
}

function replanned(
  bundle: LokiBundle,
  baseline: NamedBaseline,
  watch: SimulateWatch,
): Promise<LokiBundle> {
  const { text, name, from } = baseline;
  const own = PIPELINE_BASELINES.find((one) => one === text);
  if (own !== undefined) return baselineBundle(bundle, own, watch);
  const why =
    from.baselines.of === null
      ? "is for a single task, and this bundle is of a pipeline"
      : `is for a bundle of method ${from.name}, and this one is of method loki`;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--baseline ${name} ${why}; expected one of ${PIPELINE_BASELINES.join(", ")}`,
  );
}

/** Plans the same loads with the baseline; the same core follows the plans. */
export async function baselineBundle(
  bundle: LokiBundle,
  baseline: LokiBaseline,
  pool: LevelPoolOptions,
): Promise<LokiBundle> {
  const { levels, paceLevels: _, provenance, ...frame } = bundle;
  const requests = levels.map((level) => ({ kind: "baseline", baseline, level }) as const);
  const replies = await runInWorkers<LokiLevel>(frame, requests, pool);
  const planned = replies.flatMap((reply) => {
    if (reply.kind === "solved") return [reply.level];
    const loadQps = reply.kind === "unplanned" ? reply.loadQps : Number.NaN;
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--baseline ${baseline} has no plan for ${loadQps} qps: ` +
        "none of its options meets the SLO on this cluster",
    );
  });
  const policy = { ...frame.policy, routing: "plan", stagePolicy: "fixed" } as const;
  return { ...frame, policy, levels: planned, provenance };
}
