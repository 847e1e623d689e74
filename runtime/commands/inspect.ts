/** `inspect BUNDLE [--level QPS] [--state queued=7,slack=40ms]`. */
import type { Bundle } from "../bundle/schema.ts";
import { EXIT_CODES } from "../errors.ts";
import {
  type Choice,
  inspectBundle,
  inspectState,
  levelForLoad,
  mapPolicy,
  type PolicyMap,
  parseState,
  type StateInspection,
} from "../inspect.ts";
import { loadBundle } from "../load-bundle.ts";
import type { CommandResult } from "./command-result.ts";
import { alignColumns, percent, short } from "./text.ts";

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

/** @throws BundleError or RuntimeError if the file or the state is no good. */
export async function inspectCommand(options: InspectOptions): Promise<CommandResult> {
  const { path, loadQps } = options;
  const query = options.state === null ? null : parseState(options.state);
  const file = await loadBundle(path);
  const { bundle } = file;
  const inspection = inspectBundle(bundle, file);
  const exitCode = EXIT_CODES.ok;
  if (query !== null) {
    const state = inspectState(bundle, { ...query, loadQps });
    return { exitCode, text: stateText(state, loadQps), json: { ...inspection, state } };
  }
  if (loadQps !== null) {
    const index = levelForLoad(bundle, loadQps);
    const map = mapPolicy(bundle, index, MAP_SIZE);
    const level = { index, loadQps: bundle.levels[index]?.loadQps ?? 0, map };
    return { exitCode, text: mapText(bundle, level), json: { ...inspection, level } };
  }
  return { exitCode, text: summaryText(bundle, inspection), json: inspection };
}

function summaryText(bundle: Bundle, inspection: ReturnType<typeof inspectBundle>): string {
  const { slo, policy, cluster, provenance } = bundle;
  const violations =
    slo.maxViolationRate === null ? "" : `, violations at most ${percent(slo.maxViolationRate)}`;
  return [
    `${bundle.application}: ${bundle.method}, format version ${inspection.formatVersion}, ${inspection.bytes} bytes`,
    `sha256 ${inspection.sha256}`,
    `compiled by ${provenance.compiler} from ${provenance.inputs.length} inputs`,
    `slo: ${short(slo.latencyMs)} ms${violations}`,
    ...cluster.pools.map(({ name, workers }) => `pool ${name}: ${workers} workers`),
    `policy: ${policy.objective}, ${bundle.decisionSpace.slackMs.data.length - 1} slack steps, ${policy.batching} batching, ${policy.maxQueue} queued at most, ${policy.balancer}`,
    ...inspection.tasks.flatMap(({ name, variants }) => [
      "",
      `task ${name}`,
      alignColumns([
        ["variant", "accuracy", "batch 1 ms", "dominated"],
        ...variants.map((variant) => [
          variant.name,
          percent(variant.accuracy),
          short(variant.batch1Ms),
          variant.dominated ? "yes" : "no",
        ]),
      ]),
    ]),
    "",
    levelTable(bundle),
  ].join("\n");
}

/** One row per level: its load and what it promises. */
export function levelTable({ levels }: Bundle): string {
  return alignColumns([
    ["load qps", "accuracy/satisfied", "accuracy/query", "violations", "capacity qps", "feasible"],
    ...levels.map(({ loadQps, expected, capacityQps, feasible }) => [
      short(loadQps),
      percent(expected.accuracyPerSatisfied),
      percent(expected.accuracyPerQuery),
      percent(expected.violationRate),
      short(capacityQps),
      feasible ? "yes" : "no",
    ]),
  ]);
}

function mapText(bundle: Bundle, { loadQps, map }: { loadQps: number; map: PolicyMap }): string {
  const variants = bundle.tasks.flatMap((task) => task.variants);
  const used = new Set(map.variantByState.flat());
  const legend = [...used]
    .sort((a, b) => a - b)
    .map((variant) => `${letterOf(variant)} ${variants[variant]?.name ?? ""}`);
  const first = short(map.slackMs[0] ?? 0);
  const last = short(map.slackMs[map.slackMs.length - 1] ?? 0);
  return [
    `level ${short(loadQps)} qps: variant by queries queued (rows) and slack, ${first} to ${last} ms (columns)`,
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
  return LETTERS[variant] ?? "?";
}

function stateText(state: StateInspection, loadQps: number | null): string {
  const { level, decision, tableState, withOneMoreQueued, withOneSlackStepLess } = state;
  const asked = loadQps === null ? "no --level given: the top one" : `for ${short(loadQps)} qps`;
  return [
    `queued ${state.queued}, slack ${short(state.slackMs)} ms: ${choiceText(decision)}`,
    `answered by level ${short(level.loadQps)} qps (${asked}), in the state queued ${tableState.queued}, slack ${short(tableState.slackMs)} ms`,
    "",
    alignColumns([
      [`variant, batch ${decision.batch}`, "service ms", "accuracy", "meets slack", ""],
      ...state.alternatives.map((choice) => [
        choice.variant,
        short(choice.serviceMs),
        percent(choice.accuracy),
        choice.meetsSlack ? "yes" : "no",
        choice.variant === decision.variant ? "chosen" : "",
      ]),
    ]),
    "",
    `one query more: ${choiceText(withOneMoreQueued)}`,
    withOneSlackStepLess === null
      ? "one slack step less: there is none"
      : `one slack step less (${short(withOneSlackStepLess.slackMs)} ms): ${choiceText(withOneSlackStepLess)}`,
  ].join("\n");
}

function choiceText({ variant, batch, serviceMs, meetsSlack }: Choice): string {
  const outcome = meetsSlack ? "meets the slack" : "misses the slack";
  return `${variant} ×${batch}, ${short(serviceMs)} ms, ${outcome}`;
}
