/** Summary of a policy, and a list of facts. */

import {
  type RamsisBundle,
  type RamsisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { onDevice } from "stratagem-runtime/internal/describe/pool-device";
import { servingPathWords } from "stratagem-runtime/internal/describe/serving-path";
import { ramsisMissed } from "stratagem-runtime/internal/methods/ramsis/describe/missed";
import { definitionList } from "../../../report/definition-list.ts";
import { missedWords } from "../../../report/kit/feasible-cell.ts";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, listText, ratioText, shareText } from "../../../report/number-text.ts";
import type { VariantKey } from "../../../report/palette.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";
import type { SimulationResult } from "../simulate/simulate.ts";
import { deadlineText } from "./classes.ts";
import { swatch } from "./levels.ts";

/** Variants with a smaller share are not mentioned. */
const MIN_LISTED_SHARE = 0.03;
const MAX_TOLD_VARIANTS = 3;
const MAX_TOLD_LEVELS = 4;

/**
 * One paragraph.
 * @param results of the simulated policy, by load.
 */
export function leadText(
  bundle: RamsisBundle,
  results: ReadonlyMap<number, SimulationResult>,
): string {
  const { cluster, levels, application } = bundle;
  const [lowest] = levels;
  const highest = levels.at(-1);
  if (lowest === undefined || highest === undefined) return "";
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  const cast =
    `With ${workersText(workers)} and a deadline of ${deadlineText(bundle)}, this policy ` +
    `serves ${application}`;
  if (levels.length === 1) {
    const used = usedText(results.get(lowest.loadQps));
    const accuracy = ratioText(lowest.expected.accuracyPerQuery);
    return [
      `${cast} at ${loadText(lowest)}, in the short simulation by ${used}.`,
      `The expected accuracy is ${accuracy} per query, a late query counting as wrong.`,
      feasibilityText(bundle),
      ...simulatedText(bundle, results),
    ].join(" ");
  }
  const [from, to] = [lowest, highest].map((level) => {
    return `at ${loadText(level)} by ${usedText(results.get(level.loadQps))}`;
  });
  const [first, last] = [lowest, highest].map(({ expected }) => {
    return ratioText(expected.accuracyPerQuery);
  });
  return [
    `${cast} at loads from ${decimalText(lowest.loadQps)} to ${loadText(highest)}.`,
    `In the short simulation queries are answered ${from}; ${to}.`,
    `Expected accuracy per query goes from ${first} to ${last}, a late query counting as wrong.`,
    feasibilityText(bundle),
    ...simulatedText(bundle, results),
  ].join(" ");
}

function loadText({ loadQps }: RamsisLevel): string {
  return `${decimalText(loadQps, 2)} queries/s`;
}

/** Empty if workers are local. */
function hopEntries({ communicationLatencyMs: ms }: RamsisBundle["cluster"]) {
  const text = `${decimalText(ms, 3)} ms of each batch, in all times`;
  return ms === 0 ? [] : [["Hop to workers and back", text] as const];
}

function workersText(count: number): string {
  return `${decimalText(count)} ${count === 1 ? "worker" : "workers"}`;
}

function usedText(result: SimulationResult | undefined): string {
  const outcomes = Object.entries(result?.byVariant ?? {});
  const served = outcomes.reduce((sum, [, outcome]) => sum + outcome.queries, 0);
  const listed = outcomes
    .map(([name, outcome]) => ({ name, share: outcome.queries / Math.max(1, served) }))
    .sort((a, b) => b.share - a.share)
    .filter(({ share }, index) => share >= MIN_LISTED_SHARE && index < MAX_TOLD_VARIANTS);
  if (listed.length === 0) return "no variant";
  const [only] = listed;
  if (only?.share === 1) return `${only.name} alone`;
  return listText(listed.map(({ name, share }) => `${name} (${shareText(share)})`));
}

/** States whether every level is feasible, and which are not. */
function feasibilityText(bundle: RamsisBundle): string {
  const { levels, slo } = bundle;
  const ceiling = ratioText(violationCeiling(slo));
  const failing = levels.filter((level) => !level.feasible);
  const worst = Math.max(...levels.flatMap(({ expected }) => ratesOf(expected)));
  const whose = slo.classes === undefined ? "the queries" : "the queries of a class";
  if (failing.length === 0) {
    const which = levels.length === 1 ? "The level is" : `All ${levels.length} levels are`;
    return (
      `${which} feasible: within capacity, and at most ${ratioText(worst)} of ${whose} are ` +
      `expected to be late, of ${ceiling} allowed.`
    );
  }
  const listed = failing.slice(0, MAX_TOLD_LEVELS).map((level) => {
    return `${loadText(level)} (${missedWords(ramsisMissed(bundle, level))})`;
  });
  const more = failing.length - listed.length;
  const others = more > 0 ? [`${decimalText(more)} more, listed in the table of all levels`] : [];
  return `Not feasible: ${listText([...listed, ...others])}.`;
}

/** Violation rates of all queries, or of each class, which the ceiling then applies to. */
function ratesOf({ violationRate, byClass }: RamsisLevel["expected"]): number[] {
  if (byClass === undefined) return [violationRate];
  return Object.values(byClass).map((one) => one.violationRate);
}

/** Loads at which the short simulation has more late queries than feasible levels allow. */
function simulatedText(
  { levels, slo }: RamsisBundle,
  results: ReadonlyMap<number, SimulationResult>,
): string[] {
  const ceiling = violationCeiling(slo);
  const over = levels.filter(({ feasible, loadQps }) => {
    return feasible && (results.get(loadQps)?.violationRate ?? 0) > ceiling;
  });
  if (over.length === 0) return [];
  const listed = over.slice(0, MAX_TOLD_LEVELS).map((level) => {
    return `${ratioText(results.get(level.loadQps)?.violationRate ?? null)} at ${loadText(level)}`;
  });
  const others = over.length > listed.length ? ", and at other loads too" : "";
  return [`The short simulation has more late queries than that: ${listText(listed)}${others}.`];
}

/** A description list of the bundle's facts. */
export function facts(bundle: RamsisBundle, file: { byteCount: number; sha256: string }): Markup {
  const { slo, cluster, policy, method, provenance, arrivals, decisionSpace } = bundle;
  const ceiling = ratioText(violationCeiling(slo));
  const stated =
    slo.maxViolationRate === null
      ? `${ceiling}, from the ${decimalText(slo.percentile, 3)}th percentile`
      : ceiling;
  const pools = cluster.pools.map(
    ({ name, workers, hardware, ...on }) =>
      `${name}: ${workersText(workers)}${hardware === null ? "" : ` (${hardware})`}${onDevice(on)}`,
  );
  const slackCount = decisionSpace.slackMs.data.length;
  const grid = `${policy.discretization.kind} slack grid of ${slackCount} entries`;
  const dropped = policy.drop ? ", hopeless queries are dropped" : "";
  const entries: readonly (readonly [string, string])[] = [
    ["Deadline", deadlineText(bundle)],
    ["Serving path", servingPathWords(cluster) ?? "latencies are without it"],
    ["Violations allowed", stated],
    ["Arrivals", arrivals.process === "gamma" ? `gamma, CV² ${arrivals.cv2}` : arrivals.process],
    ["Cluster", pools.join("; ")],
    ...hopEntries(cluster),
    [
      "Method",
      `${method}, ${policy.objective} objective, ${policy.balancer} balancer, ` +
        `${policy.batching} batching, ${policy.serviceTimes} service times${dropped}`,
    ],
    ["Decision space", `up to ${decimalText(decisionSpace.maxQueue)} queued, ${grid}`],
    ["Compiled by", `${provenance.compiler} from ${provenance.inputs.length} files`],
    ["Bundle", `${decimalText(file.byteCount)} bytes, SHA-256 ${file.sha256}`],
  ];
  return definitionList(entries);
}

/** The variants with letter, colour and facts, most accurate first. */
export function variantLegend({ tasks }: RamsisBundle, keys: readonly VariantKey[]): Markup {
  const { data, shape } = tasks[0]?.serviceTimes.decisionMs ?? { data: [], shape: [] };
  const ordered = [...keys].sort((a, b) => b.accuracy - a.accuracy || a.variant - b.variant);
  const rows = ordered.map((key) => {
    const ms = data[key.variant * (shape[1] ?? 0)] ?? Number.NaN;
    return tableRow([
      html`<td>${swatch(key)} ${key.name}</td>`,
      ratioText(key.accuracy),
      decimalText(ms, ms < 10 ? 2 : 1),
      key.dominated ? "dominated, never chosen" : "",
    ]);
  });
  return html`<div class="scroll"><table>
<thead>${headRow(["variant", "accuracy", "batch of 1, ms", ""])}</thead><tbody>${rows}</tbody>
</table></div>`;
}
