/** `inspect BUNDLE [--level QPS] [--state queued=7,slack=40ms[,class=NAME]]`. */
import type {
  ActionValues,
  Bundle,
  LokiBundle,
  NoActionValues,
  RamsisBundle,
} from "../bundle/schema.ts";
import { levelForLoad } from "../core/level-choice.ts";
import { EXIT_CODES, RuntimeError } from "../errors.ts";
import {
  type BundleInspection,
  type Decision,
  inspectBundle,
  inspectState,
  mapPolicy,
  type PolicyMap,
  parseState,
  type StateInspection,
} from "../inspect.ts";
import { loadBundle } from "../load-bundle.ts";
import { inspectPlaces, placeTable } from "../methods/accordion/tell/inspect-places.ts";
import { inspectStages, provisioningTable } from "../methods/inferline/tell/inspect-stages.ts";
import { pipelineSummary, planTable, planText } from "../methods/loki/tell/inspect-plan.ts";
import { planView } from "../methods/loki/tell/plan-view.ts";
import { classViews, decidingTable } from "../methods/ramsis/tell/class-level-view.ts";
import { inspectScales, scaleTable } from "../methods/themis/tell/inspect-scales.ts";
import type { CommandResult } from "./command-result.ts";
import { alignColumns, percent, promisedViolations, short } from "./text.ts";

/** A map of this many rows and columns fits a terminal. */
const MAP_SIZE = [40, 20] as const;
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

export interface InspectOptions {
  readonly path: string;
  /** Load whose level to show; null for the summary, or for the top level with a state. */
  readonly loadQps: number | null;
  /** As given to `--state`. */
  readonly state: string | null;
}

/** Computes what the actions of a state are worth. @param level index of the level that decides. */
export type ActionValuesOf = (
  bundle: RamsisBundle,
  level: number,
  queued: number,
  slackMs: number,
) => Promise<ActionValues | NoActionValues>;

/** Action values by the names of the variants. */
interface NamedValues {
  readonly unit: ActionValues["unit"];
  readonly actions: readonly NamedValue[];
}

interface NamedValue {
  readonly variant: string;
  readonly batch: number;
  readonly advantage: number;
}

/** @param actionValuesOf without it, nothing is said about values. @throws BundleError or RuntimeError if the file or the state is no good. */
export async function inspectCommand(
  options: InspectOptions,
  actionValuesOf?: ActionValuesOf,
): Promise<CommandResult> {
  const { path, loadQps } = options;
  const file = await loadBundle(path);
  const { bundle } = file;
  const inspection = inspectBundle(bundle, file);
  if (bundle.method === "accordion") {
    return inspectPlaces(bundle, inspection, loadQps, options.state);
  }
  const query = options.state === null ? null : parseState(options.state);
  const exitCode = EXIT_CODES.ok;
  const asksState = query !== null;
  if (bundle.method === "loki") return inspectPipeline(bundle, inspection, loadQps, asksState);
  if (bundle.method === "inferline") return inspectStages(bundle, inspection, loadQps, asksState);
  if (bundle.method === "themis") return inspectScales(bundle, inspection, loadQps, asksState);
  if (query !== null) {
    const state = inspectState(bundle, { ...query, loadQps });
    const table = decidingTable(bundle, state.level.index, query.sloClass);
    const found = await actionValuesOf?.(table.bundle, table.level, query.queued, query.slackMs);
    const values = found !== undefined && "actions" in found ? named(bundle, found) : null;
    const why = found !== undefined && "reason" in found ? found : null;
    const text = stateText(state, loadQps, valueLines(state, values ?? why));
    return { exitCode, text, json: { ...inspection, state: { ...state, values } } };
  }
  if (loadQps !== null) {
    const index = levelForLoad(bundle.levels, loadQps);
    return inspectLevel(bundle, inspection, index);
  }
  return { exitCode, text: summaryText(bundle, inspection), json: inspection };
}

/** The map of a level, or of each class that has a table of its own there. */
function inspectLevel(
  bundle: RamsisBundle,
  inspection: BundleInspection,
  index: number,
): CommandResult {
  const exitCode = EXIT_CODES.ok;
  const level = bundle.levels[index];
  if (level === undefined) throw new RangeError("a level is chosen from those there are");
  const { loadQps } = level;
  const map = mapPolicy(bundle, index, MAP_SIZE);
  if (level.classTables === undefined) {
    const chosen = { index, loadQps, map };
    return { exitCode, text: mapText(bundle, chosen), json: { ...inspection, level: chosen } };
  }
  const classes = classViews(bundle, level).map(({ name, workers }) => {
    const own = decidingTable(bundle, index, name);
    return { name, workers, map: mapPolicy(own.bundle, own.level, MAP_SIZE) };
  });
  const texts = classes.map(({ name, workers, map: own }) =>
    mapText(bundle, { loadQps, map: own }, `, class ${name} on ${workers} of the workers`),
  );
  const note = "while a class brings more than its share, one queue is followed:";
  return {
    exitCode,
    text: [...texts, `${note}\n${mapText(bundle, { loadQps, map })}`].join("\n\n"),
    json: { ...inspection, level: { index, loadQps, map, classes } },
  };
}

function inspectPipeline(
  bundle: LokiBundle,
  inspection: BundleInspection,
  loadQps: number | null,
  asksState: boolean,
): CommandResult {
  if (asksState) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      "--state: expected a bundle of tables, got one of plans, whose queues have no states; --level shows the plan for a load",
    );
  }
  const exitCode = EXIT_CODES.ok;
  if (loadQps === null) {
    return { exitCode, text: pipelineSummary(bundle, inspection), json: inspection };
  }
  const index = levelForLoad(bundle.levels, loadQps);
  const level = bundle.levels[index];
  if (level === undefined) throw new RangeError("a level is chosen from those there are");
  const chosen = { index, loadQps: level.loadQps, plan: planView(bundle, level) };
  return { exitCode, text: planText(bundle, level), json: { ...inspection, level: chosen } };
}

function summaryText(bundle: RamsisBundle, inspection: BundleInspection): string {
  const { slo, policy, cluster, provenance } = bundle;
  const violations =
    slo.maxViolationRate === null ? "" : `, violations at most ${percent(slo.maxViolationRate)}`;
  return [
    `${bundle.application}: ${bundle.method}, format version ${inspection.formatVersion}, ${inspection.bytes} bytes`,
    `sha256 ${inspection.sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    ...sloLines(bundle, violations),
    ...cluster.pools.map(({ name, workers }) => `pool ${name}: ${workers} workers`),
    `policy: ${policy.objective}, ${bundle.decisionSpace.slackMs.data.length - 1} slack steps, ${policy.batching} batching, ${policy.maxQueue} queued at most, ${policy.balancer}`,
    ...bundle.tasks.flatMap(({ name, variants, serviceTimes }) => [
      "",
      `task ${name}`,
      alignColumns([
        ["variant", "accuracy", "batch 1 ms", "dominated"],
        ...variants.map((variant, index) => [
          variant.name,
          percent(variant.accuracy),
          short(serviceTimes.decisionMs.data[index * (serviceTimes.decisionMs.shape[1] ?? 0)] ?? 0),
          variant.dominated ? "yes" : "no",
        ]),
      ]),
    ]),
    "",
    levelTable(bundle),
    ...(slo.classes === undefined ? [] : ["", classTable(bundle)]),
  ].join("\n");
}

function sloLines({ slo, policy }: RamsisBundle, violations: string): string[] {
  const { classes } = slo;
  if (classes === undefined) return [`slo: ${short(slo.latencyMs)} ms${violations}`];
  const each = classes.map(
    ({ name, latencyMs, share }) => `${name} ${short(latencyMs)} ms (${percent(share)})`,
  );
  const how = {
    auto: "one queue or workers of their own, by level",
    shared: "one queue",
    separate: "workers of their own",
  }[policy.classes ?? "shared"];
  return [`slo by class: ${each.join(", ")}${violations}; ${how}`];
}

/** One row per level and class: its workers where it has some of its own, and what the level promises it. */
export function classTable(bundle: RamsisBundle): string {
  const rows = bundle.levels.flatMap((level) =>
    classViews(bundle, level).map(({ name, latencyMs, share, workers, expected }) => [
      short(level.loadQps),
      name,
      short(latencyMs),
      percent(share),
      workers === null ? "one queue" : String(workers),
      percent(expected?.accuracyPerSatisfied ?? null),
      percent(expected?.accuracyPerQuery ?? null),
      percent(expected?.violationRate ?? null),
    ]),
  );
  return alignColumns([
    [
      "load qps",
      "class",
      "slo ms",
      "share",
      "workers",
      "accuracy/satisfied",
      "accuracy/query",
      "violations ≤",
    ],
    ...rows,
  ]);
}

/** One row per level: its load and what it promises. */
export function levelTable(bundle: Bundle): string {
  if (bundle.method === "loki") return planTable(bundle.levels);
  if (bundle.method === "inferline") return provisioningTable(bundle);
  if (bundle.method === "themis") return scaleTable(bundle);
  if (bundle.method === "accordion") return placeTable(bundle.levels);
  const { levels } = bundle;
  return alignColumns([
    [
      "load qps",
      "accuracy/satisfied",
      "accuracy/query",
      "upper bound",
      "all served",
      "violations",
      "capacity qps",
      "feasible",
    ],
    ...levels.map(({ loadQps, expected, capacityQps, feasible }) => [
      short(loadQps),
      percent(expected.accuracyPerSatisfied),
      percent(expected.accuracyPerQuery),
      percent(expected.upperBoundAccuracy),
      percent(expected.servedBoundAccuracy ?? null),
      promisedViolations(expected),
      short(capacityQps),
      feasible ? "yes" : "no",
    ]),
  ]);
}

function mapText(
  bundle: RamsisBundle,
  { loadQps, map }: { loadQps: number; map: PolicyMap },
  whose = "",
): string {
  const variants = bundle.tasks.flatMap((task) => task.variants);
  const used = new Set(map.variantByState.flat());
  const legend = [...used]
    .sort((a, b) => a - b)
    .map(
      (variant) =>
        `${letterOf(variant)} ${variants[variant]?.name ?? (variant === -1 ? "wait" : "give the earliest query up")}`,
    );
  const first = short(map.slackMs[0] ?? 0);
  const last = short(map.slackMs[map.slackMs.length - 1] ?? 0);
  return [
    `level ${short(loadQps)} qps${whose}: variant by queries queued (rows) and slack, ${first} to ${last} ms (columns)`,
    ...legend,
    "",
    alignColumns([
      ["queued", "slack →"],
      ...map.variantByState.map((row, index) => [
        String(map.queued[index]),
        row.map(letterOf).join(" "),
      ]),
    ]),
  ].join("\n");
}

function letterOf(variant: number): string {
  if (variant < 0) return variant === -1 ? "." : "!";
  return LETTERS[variant] ?? "?";
}

function named({ tasks }: RamsisBundle, { unit, actions }: ActionValues): NamedValues {
  const variants = tasks.flatMap((task) => task.variants);
  const nameOf = (variant: number): string => variants[variant]?.name ?? "";
  return {
    unit,
    actions: actions.map(({ variant, ...rest }) => ({ variant: nameOf(variant), ...rest })),
  };
}

/** The best action, the runner-up, and the table's choice where it is neither. */
function valueLines(
  { decision }: StateInspection,
  values: NamedValues | NoActionValues | null,
): readonly string[] {
  if (values === null) return [];
  if ("reason" in values) return [`value: not known, ${values.reason}`, ""];
  const [best, runnerUp] = values.actions;
  if (best === undefined || runnerUp === undefined) {
    return ["value: no other action is admissible here", ""];
  }
  const isChosen = ({ variant, batch }: NamedValue): boolean =>
    "batch" in decision && decision.variant === variant && decision.batch === batch;
  const chosen = values.actions.slice(2).find(isChosen);
  const parts = [
    `${nameOf(best)} best`,
    `runner-up ${nameOf(runnerUp)}, ${lossText(runnerUp, values.unit)}`,
    ...(chosen === undefined ? [] : [`chosen ${nameOf(chosen)}, ${lossText(chosen, values.unit)}`]),
  ];
  return [
    `value${"batch" in decision ? "" : " of what could run now"}: ${parts.join("; ")}`,
    values.unit === "accuracy less price"
      ? "by the price of the workers' time in this state"
      : "over all the future, with the table deciding from the next batch on",
    "",
  ];
}

function nameOf({ variant, batch }: NamedValue): string {
  return `${variant} ×${batch}`;
}

function lossText({ advantage }: NamedValue, unit: NamedValues["unit"]): string {
  if (advantage === 0) return "as good";
  return unit === "accuracy less price"
    ? `${short(-100 * advantage)} points of accuracy per query less`
    : `${short(-advantage)} accuracy-weighted ${unit} less`;
}

function stateText(
  state: StateInspection,
  loadQps: number | null,
  aboutValues: readonly string[],
): string {
  const { level, decision, tableState, withOneMoreQueued, withOneSlackStepLess } = state;
  const asked = loadQps === null ? "no --level given: the top one" : `for ${short(loadQps)} qps`;
  const whose = state.sloClass === undefined ? "" : `, by the table of class ${state.sloClass}`;
  return [
    `queued ${state.queued}, slack ${short(state.slackMs)} ms: ${choiceText(decision)}`,
    `answered by level ${short(level.loadQps)} qps (${asked})${whose}, in the state queued ${tableState.queued}, slack ${short(tableState.slackMs)} ms`,
    "",
    alignColumns([
      [
        `variant, batch ${state.alternatives[0]?.batch ?? ""}`,
        "service ms",
        "accuracy",
        "meets slack",
        "",
      ],
      ...state.alternatives.map((choice) => [
        choice.variant,
        short(choice.serviceMs),
        percent(choice.accuracy),
        choice.meetsSlack ? "yes" : "no",
        "variant" in decision && choice.variant === decision.variant ? "chosen" : "",
      ]),
    ]),
    "",
    ...aboutValues,
    `one query more: ${choiceText(withOneMoreQueued)}`,
    withOneSlackStepLess === null
      ? "one slack step less: there is none"
      : `one slack step less (${short(withOneSlackStepLess.slackMs)} ms): ${choiceText(withOneSlackStepLess)}`,
  ].join("\n");
}

function choiceText(choice: Decision): string {
  if ("givesUp" in choice)
    return "give the earliest query up: in time it costs more than it is worth";
  if ("waitUntilSlackMs" in choice) {
    return `wait for another query, until the slack is below ${short(choice.waitUntilSlackMs)} ms`;
  }
  const { variant, batch, serviceMs, meetsSlack } = choice;
  const outcome = meetsSlack ? "meets the slack" : "misses the slack";
  return `${variant} ×${batch}, ${short(serviceMs)} ms, ${outcome}`;
}
