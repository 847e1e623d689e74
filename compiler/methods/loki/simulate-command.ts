/** `stratagem simulate BUNDLE` of a pipeline: its plans, or a baseline's, on a virtual clock. */
import type { LokiBundle, LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/errors";
import { alignColumns, percent, short } from "stratagem-runtime/internal/tell/text";
import { type LevelPoolOptions, runInWorkers } from "../../processes/level-pool.ts";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import type { NamedBaseline } from "../method.ts";
import {
  type LokiSimulationOptions,
  type LokiSimulationResult,
  simulateLoki,
} from "./simulate/simulate.ts";
import { type LokiBaseline, PIPELINE_BASELINES } from "./solve/baseline-plan.ts";

/**
 * @param baseline null for the plans of the bundle.
 * @throws RuntimeError for a baseline of another kind of bundle.
 */
export async function simulateLokiCommand(
  bundle: LokiBundle,
  options: LokiSimulationOptions,
  baseline: NamedBaseline | null,
  watch: SimulateWatch,
): Promise<CommandResult> {
  const simulated = baseline === null ? bundle : await replanned(bundle, baseline, watch);
  const startMs = watch.nowMs();
  const result = simulateLoki(simulated, options);
  const wallMs = watch.nowMs() - startMs;
  const queriesPerWallSecond = Math.round((1000 * result.queries) / wallMs);
  const served = Object.values(result.byTask).reduce((sum, { queries }) => sum + queries, 0);
  const taskQueriesPerWallSecond = Math.round((1000 * served) / wallMs);
  const level = baseline === null ? levelFor(bundle, options) : null;
  return {
    exitCode: EXIT_CODES.ok,
    text: render(result, level, taskQueriesPerWallSecond),
    json: {
      ...result,
      wallMs,
      queriesPerWallSecond,
      taskQueriesPerWallSecond,
      ...(level === null ? {} : { expected: level.expected }),
    },
  };
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

/** The same loads, planned as the baseline does and followed by the same core. */
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
        "what it chooses among does not meet the SLO on this cluster",
    );
  });
  const policy = { ...frame.policy, routing: "plan", stagePolicy: "fixed" } as const;
  return { ...frame, policy, levels: planned, provenance };
}

/** The level whose expectation a steady load is to be compared with; a trace has none. */
function levelFor(
  { levels }: LokiBundle,
  { arrivals }: Pick<LokiSimulationOptions, "arrivals">,
): LokiLevel | null {
  if (arrivals.kind === "trace") return null;
  return levels.find(({ loadQps }) => loadQps >= arrivals.qps) ?? levels.at(-1) ?? null;
}

function render(result: LokiSimulationResult, level: LokiLevel | null, perSecond: number): string {
  const { latencyMs, servers, expected } = { ...result, expected: level?.expected };
  const row = (label: string, simulated: number | null, stated: number | undefined): string[] => [
    label,
    percent(simulated),
    ...(stated === undefined ? [] : [percent(stated)]),
  ];
  return [
    `${result.queries} requests in ${result.durationMs / 1000} s, ` +
      `seed ${result.seed}: ${result.late} late, ${result.dropped} dropped; ` +
      `${perSecond} task queries per wall second`,
    latencyMs === null
      ? "no request was served"
      : `latency ms: mean ${ms(latencyMs.mean)}, p50 ${ms(latencyMs.p50)}, ` +
        `p95 ${ms(latencyMs.p95)}, p99 ${ms(latencyMs.p99)}, max ${ms(latencyMs.max)}`,
    `servers: mean ${servers.mean.toFixed(1)}, at most ${servers.max}; ` +
      `${result.planSwitches} changes of plan, ${result.modelLoads} model loads`,
    "",
    alignColumns([
      ["", "simulated", ...(level === null ? [] : [`expected at ${level.loadQps} qps`])],
      row("accuracy/satisfied", result.accuracyPerSatisfied, expected?.accuracyPerSatisfied),
      row("accuracy/query", result.accuracyPerQuery, expected?.accuracyPerQuery),
      row("violations", result.violationRate, expected?.violationRate),
    ]),
    "",
    alignColumns([
      ["task", "queries", "dropped", "mean batch"],
      ...Object.entries(result.byTask).map(([name, task]) => [
        name,
        String(task.queries),
        String(task.dropped),
        task.meanBatch === null ? "-" : short(task.meanBatch),
      ]),
    ]),
  ].join("\n");
}

function ms(value: number): string {
  return value.toFixed(1);
}
