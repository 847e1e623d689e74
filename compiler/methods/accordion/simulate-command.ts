/**
 * `stratagem simulate BUNDLE` of malleable pipelines: queries on execution places, on a virtual
 * clock.
 */
import type { AccordionBundle, AccordionLevel } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { levelForLoad } from "stratagem-runtime/internal/core/level-choice";
import { EXIT_CODES } from "stratagem-runtime/internal/errors";
import { alignColumns, percent, short } from "stratagem-runtime/internal/tell/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import type { ArrivalProcess } from "../../simulate/arrivals.ts";
import type { LatencySummary } from "../../simulate/latency-sample.ts";
import { type OnOutcome, tellOutcomes } from "../../simulate/outcomes.ts";
import { accordionBaseline } from "./baselines.ts";
import {
  type AccordionSimulationOptions,
  type AccordionSimulationResult,
  simulateAccordion,
} from "./simulate/simulate.ts";
import { sizeText } from "./simulate/size-classes.ts";

export interface AccordionCommandOptions
  extends Pick<
    AccordionSimulationOptions,
    "durationMs" | "seed" | "serviceTimes" | "stations" | "adapts"
  > {
  readonly arrivals: ArrivalProcess;
  /** Told of every request. */
  readonly onOutcome?: OnOutcome;
}

/**
 * @param baseline null for the bundle itself.
 * @throws RuntimeError for a baseline of another kind of bundle, InputError for service times that
 * are to be drawn from quantiles that there are not.
 */
export function simulateAccordionCommand(
  bundle: AccordionBundle,
  options: AccordionCommandOptions,
  baseline: string | { readonly kind: string } | null,
  watch: Pick<SimulateWatch, "nowMs">,
): CommandResult {
  const { onOutcome, ...simulation } = options;
  const simulated = baseline === null ? bundle : compared(bundle, baseline);
  const startMs = watch.nowMs();
  const withLatencies = onOutcome !== undefined;
  const ran = simulateAccordion(simulated, { ...simulation, withLatencies });
  const { latencyMsByQuery, ...result } = ran;
  const wallMs = watch.nowMs() - startMs;
  if (onOutcome !== undefined && latencyMsByQuery !== null) {
    tellOutcomes(onOutcome, options, latencyMsByQuery);
  }
  const queriesPerWallSecond = Math.round((1000 * result.queries) / wallMs);
  const level = baseline === null ? levelFor(bundle, options) : null;
  return {
    exitCode: EXIT_CODES.ok,
    text: render(result, level, queriesPerWallSecond),
    json: {
      ...result,
      scheduler: simulated.policy.scheduler,
      wallMs,
      queriesPerWallSecond,
      ...(level === null ? {} : { expected: level.expected }),
    },
  };
}

/** What is simulated in place of the bundle. */
function compared(
  bundle: AccordionBundle,
  baseline: string | { readonly kind: string },
): AccordionBundle {
  return accordionBaseline(bundle, typeof baseline === "string" ? baseline : baseline.kind);
}

/** The level whose expectation a steady load is to be compared with; a trace has none. */
function levelFor(
  { levels }: AccordionBundle,
  { arrivals }: Pick<AccordionCommandOptions, "arrivals">,
): AccordionLevel | null {
  if (arrivals.kind === "trace") return null;
  return levels[levelForLoad(levels, arrivals.qps)] ?? null;
}

type Shown = Omit<AccordionSimulationResult, "latencyMsByQuery">;

function render(result: Shown, level: AccordionLevel | null, perSecond: number): string {
  const { latencyMs, instances, queries } = result;
  return [
    `${queries} queries of ${instances} instances in ${result.durationMs / 1000} s, ` +
      `seed ${result.seed}: ${result.late} late, ${result.dropped} dropped; ` +
      `${perSecond} queries per wall second`,
    latencyMs === null ? "no query was served" : `latency ms: ${latencies(latencyMs)}`,
    `the last query was over at ${(result.makespanMs / 1000).toFixed(1)} s: ` +
      `${short(result.throughputQps)} queries per second; at most ${result.activeQueries.max} ` +
      "at a time",
    `${result.shrinks} shrinks, ${result.grows} growths; ${result.instancesRedone} instances ` +
      `begun again (${percent(instances === 0 ? null : result.instancesRedone / instances)})`,
    "",
    alignColumns(comparison(result, level)),
    "",
    alignColumns([
      ["priority", "queries", "violations", "late", "dropped", "mean ms", "p99 ms"],
      ...Object.entries(result.byPriority).map(([name, priority]) => [
        name,
        String(priority.queries),
        percent(priority.violationRate),
        String(priority.late),
        String(priority.dropped),
        msOrDash(priority.latencyMs?.mean),
        msOrDash(priority.latencyMs?.p99),
      ]),
    ]),
    "",
    alignColumns(sizeRows(result)),
    "",
    alignColumns([
      ["model", "queries", "mean instances", "late", "dropped", "accuracy"],
      ...Object.entries(result.byVariant).map(([name, model]) => [
        name,
        String(model.queries),
        model.meanBatch === null ? "-" : model.meanBatch.toFixed(2),
        String(model.late),
        String(model.dropped),
        percent(model.accuracy),
      ]),
    ]),
  ].join("\n");
}

/** By the fewest places with which a query that starts at once is on time. */
function sizeRows({ bySize }: Shown): string[][] {
  const some = bySize.filter(({ high, low }) => high.queries + low.queries > 0);
  return [
    ["places needed", "high priority", "violations", "low priority", "violations"],
    ...some.map(({ places, high, low }) => [
      sizeText(places),
      ...[high, low].flatMap(({ queries, violationRate }) => [
        String(queries),
        percent(queries === 0 ? null : violationRate),
      ]),
    ]),
  ];
}

function comparison(result: Shown, level: AccordionLevel | null): string[][] {
  const { queries, violationRate, dropped, latencyMs, occupancy, activeQueries } = result;
  const expected = level?.expected;
  const perQuery = (count: number) => (queries === 0 ? 0 : count / queries);
  const row = (label: string, simulated: string, stated: string | undefined): string[] => [
    label,
    simulated,
    ...(stated === undefined ? [] : [stated]),
  ];
  const shown = (value: number | undefined, as: (value: number) => string) =>
    value === undefined ? undefined : as(value);
  return [
    ["", "simulated", ...(level === null ? [] : [`expected at ${level.loadQps} qps`])],
    row("violations", percent(violationRate), shown(expected?.violationRate, percent)),
    row("dropped", percent(perQuery(dropped)), shown(expected?.droppedRate, percent)),
    row("latency ms p50", msOrDash(latencyMs?.p50), shown(expected?.latencyMsP50, ms)),
    row("latency ms p99", msOrDash(latencyMs?.p99), shown(expected?.latencyMsP99, ms)),
    row("places busy", percent(occupancy), shown(expected?.occupancy, percent)),
    row("queries at a time", short(activeQueries.mean), shown(expected?.activeQueries, short)),
    row(
      "reconfigurations/query",
      short(perQuery(result.reconfigurations)),
      shown(expected?.reconfigurations, short),
    ),
  ];
}

function latencies({ mean, p50, p95, p99, max }: LatencySummary): string {
  return `mean ${ms(mean)}, p50 ${ms(p50)}, p95 ${ms(p95)}, p99 ${ms(p99)}, max ${ms(max)}`;
}

function ms(value: number): string {
  return value.toFixed(1);
}

function msOrDash(value: number | undefined): string {
  return value === undefined ? "-" : ms(value);
}
