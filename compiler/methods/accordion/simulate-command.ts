/**
 * `stratagem simulate BUNDLE` of malleable pipelines: queries on execution places, on a virtual
 * clock.
 */
import type { AccordionBundle, AccordionLevel } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { percent, short } from "stratagem-runtime/internal/describe/text";
import type { SimulateWatch } from "../../processes/simulate-watch.ts";
import { percentileOrDash } from "../../simulate/latency-sample.ts";
import { reportOutcomes } from "../../simulate/outcomes.ts";
import type { AskedRun, NamedBaseline } from "../method.ts";
import {
  type ComparedRow,
  lateRows,
  runReport,
  stated,
  steadyLevel,
  tenths,
  tenthsOrDash,
} from "../run-report.ts";
import { accordionBaseline } from "./baselines.ts";
import { type AccordionSimulationResult, simulateAccordion } from "./simulate/simulate.ts";
import { sizeText } from "./simulate/size-classes.ts";

/**
 * @param baseline null for the bundle itself.
 * @throws RuntimeError for a baseline of another kind of bundle, InputError for sampled service
 * times if the bundle has no quantiles.
 */
export function simulateAccordionCommand(
  bundle: AccordionBundle,
  options: AskedRun,
  baseline: Pick<NamedBaseline, "name"> | null,
  watch: Pick<SimulateWatch, "nowMs">,
): CommandResult {
  const { onOutcome, ...simulation } = options;
  const simulated = baseline === null ? bundle : accordionBaseline(bundle, baseline.name);
  const startMs = watch.nowMs();
  const withLatencies = onOutcome !== undefined;
  const ran = simulateAccordion(simulated, { ...simulation, withLatencies });
  const { latencyMsByQuery, ...result } = ran;
  const wallMs = watch.nowMs() - startMs;
  reportOutcomes(options, latencyMsByQuery);
  const level = baseline === null ? steadyLevel(bundle.levels, options.arrivals) : null;
  const { instances, queries } = result;
  return runReport(result, {
    wallMs,
    counted: `${queries} queries of ${instances} instances`,
    level,
    expected: level?.expected,
    json: { scheduler: simulated.policy.scheduler },
    lines: [
      `the last query ended at ${tenths(result.makespanMs / 1000)} s: ` +
        `${short(result.throughputQps)} queries per second; ` +
        `at most ${result.activeQueries.max} at a time`,
      `${result.shrinks} shrinks, ${result.grows} growths; ${result.instancesRedone} instances ` +
        `restarted (${percent(instances === 0 ? null : result.instancesRedone / instances)})`,
    ],
    rows: comparison(result, level?.expected),
    tables: [priorityTable(result), sizeRows(result), modelTable(result)],
  });
}

type Shown = Omit<AccordionSimulationResult, "latencyMsByQuery">;

function priorityTable({ byPriority }: Shown): string[][] {
  return [
    ["priority", "queries", "violations", "late", "dropped", "mean ms", "p99 ms"],
    ...Object.entries(byPriority).map(([name, priority]) => [
      name,
      String(priority.queries),
      percent(priority.violationRate),
      String(priority.late),
      String(priority.dropped),
      tenthsOrDash(priority.latencyMs?.mean),
      percentileOrDash(priority.latencyMs, "p99"),
    ]),
  ];
}

function modelTable({ byVariant }: Shown): string[][] {
  return [
    ["model", "queries", "mean instances", "late", "dropped", "accuracy"],
    ...Object.entries(byVariant).map(([name, model]) => [
      name,
      String(model.queries),
      model.meanBatch === null ? "-" : model.meanBatch.toFixed(2),
      String(model.late),
      String(model.dropped),
      percent(model.accuracy),
    ]),
  ];
}

/** Rows by the fewest places with which a query that starts at once meets its deadline. */
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

function comparison(
  result: Shown,
  expected: AccordionLevel["expected"] | undefined,
): ComparedRow[] {
  const { queries, dropped, occupancy, activeQueries, reconfigurations } = result;
  const perQuery = (count: number) => (queries === 0 ? 0 : count / queries);
  const [violations, ...latencies] = lateRows(result, expected);
  return [
    ...(violations === undefined ? [] : [violations]),
    ["dropped", percent(perQuery(dropped)), stated(expected?.droppedRate, percent)],
    ...latencies,
    ["places busy", percent(occupancy), stated(expected?.occupancy, percent)],
    ["queries at a time", short(activeQueries.mean), stated(expected?.activeQueries, short)],
    [
      "reconfigurations/query",
      short(perQuery(reconfigurations)),
      stated(expected?.reconfigurations, short),
    ],
  ];
}
