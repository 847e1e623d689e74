/** What the policy is and does, in words and facts. */
import {
  type RamsisBundle,
  type RamsisLevel,
  violationCeiling,
} from "stratagem-runtime/internal/bundle/schema";
import { html, type Markup } from "../../../report/markup.ts";
import { decimalText, listText, ratioText, shareText } from "../../../report/number-text.ts";
import type { VariantKey } from "../../../report/palette.ts";
import type { SimulationResult } from "../simulate/simulate.ts";
import { deadlineText } from "./classes.ts";
import { swatch } from "./levels.ts";

/** Variants with a smaller share are not worth a word. */
const MIN_TOLD_SHARE = 0.03;
const MAX_TOLD_VARIANTS = 3;
const MAX_TOLD_LEVELS = 4;

/** One paragraph. @param results of the simulated policy, by load. */
export function leadText(
  bundle: RamsisBundle,
  results: ReadonlyMap<number, SimulationResult>,
): string {
  const { cluster, levels, application } = bundle;
  const [lowest] = levels;
  const highest = levels.at(-1);
  if (lowest === undefined || highest === undefined) return "";
  const workers = cluster.pools.reduce((sum, pool) => sum + pool.workers, 0);
  const cast = `With ${workersText(workers)} and a deadline of ${deadlineText(bundle)}, this policy serves ${application}`;
  if (levels.length === 1) {
    return `${cast} at ${loadText(lowest)}: ${usedText(results.get(lowest.loadQps))}, with an expected accuracy of ${ratioText(lowest.expected.accuracyPerQuery)} per query. ${feasibilityText(bundle)}`;
  }
  return [
    `${cast} at loads from ${decimalText(lowest.loadQps)} to ${loadText(highest)}.`,
    `At ${loadText(lowest)}, queries are answered by ${usedText(results.get(lowest.loadQps))}; at ${loadText(highest)}, by ${usedText(results.get(highest.loadQps))}.`,
    `Expected accuracy per query goes from ${ratioText(lowest.expected.accuracyPerQuery)} to ${ratioText(highest.expected.accuracyPerQuery)}, a late query counting as wrong.`,
    feasibilityText(bundle),
  ].join(" ");
}

function loadText({ loadQps }: RamsisLevel): string {
  return `${decimalText(loadQps, 2)} queries/s`;
}

function workersText(count: number): string {
  return `${decimalText(count)} ${count === 1 ? "worker" : "workers"}`;
}

function usedText(result: SimulationResult | undefined): string {
  const outcomes = Object.entries(result?.byVariant ?? {});
  const served = outcomes.reduce((sum, [, outcome]) => sum + outcome.queries, 0);
  const told = outcomes
    .map(([name, outcome]) => ({ name, share: outcome.queries / Math.max(1, served) }))
    .sort((a, b) => b.share - a.share)
    .filter(({ share }, index) => share >= MIN_TOLD_SHARE && index < MAX_TOLD_VARIANTS);
  if (told.length === 0) return "no variant in the short simulation";
  const [only] = told;
  if (only !== undefined && only.share === 1) return `${only.name} alone`;
  return listText(told.map(({ name, share }) => `${name} (${shareText(share)})`));
}

/** Whether every level can be carried as promised, and which not. */
function feasibilityText({ levels, slo }: RamsisBundle): string {
  const ceiling = ratioText(violationCeiling(slo));
  const failing = levels.filter((level) => !level.feasible);
  const worst = Math.max(...levels.map((level) => level.expected.violationRate));
  if (failing.length === 0) {
    const which = levels.length === 1 ? "The level is" : `All ${levels.length} levels are`;
    return `${which} feasible: within capacity, and at most ${ratioText(worst)} of the queries are expected to be late, of ${ceiling} allowed.`;
  }
  const loads = failing.map((level) => decimalText(level.loadQps, 2));
  const which =
    loads.length > MAX_TOLD_LEVELS
      ? `${loads.length} of ${levels.length} levels, from ${loads[0]} to ${loads.at(-1)}`
      : listText(loads);
  return `Not feasible: ${which} queries/s, where the load is above capacity or more than ${ceiling} of the queries are expected to be late.`;
}

/** A description list of what the bundle is. */
export function facts(bundle: RamsisBundle, file: { byteCount: number; sha256: string }): Markup {
  const { slo, cluster, policy, method, provenance, arrivals, decisionSpace } = bundle;
  const ceiling = ratioText(violationCeiling(slo));
  const stated =
    slo.maxViolationRate === null
      ? `${ceiling}, from the ${decimalText(slo.percentile, 3)}th percentile`
      : ceiling;
  const pools = cluster.pools.map(
    ({ name, workers, hardware }) =>
      `${name}: ${workersText(workers)}${hardware === null ? "" : ` (${hardware})`}`,
  );
  const grid = `${policy.discretization.kind} slack grid of ${decisionSpace.slackMs.data.length} entries`;
  const entries: readonly (readonly [string, string])[] = [
    ["Deadline", deadlineText(bundle)],
    ["Violations allowed", stated],
    ["Arrivals", arrivals.process === "gamma" ? `gamma, CV² ${arrivals.cv2}` : arrivals.process],
    ["Cluster", pools.join("; ")],
    [
      "Method",
      `${method}, ${policy.objective} objective, ${policy.balancer} balancer, ${policy.batching} batching, ${policy.serviceTimes} service times${policy.drop ? ", hopeless queries are dropped" : ""}`,
    ],
    ["Decision space", `up to ${decimalText(decisionSpace.maxQueue)} queued, ${grid}`],
    ["Compiled by", `${provenance.compiler} from ${provenance.inputs.length} files`],
    ["Bundle", `${decimalText(file.byteCount)} bytes, SHA-256 ${file.sha256}`],
  ];
  return html`<dl>${entries.map(([term, text]) => html`<div><dt>${term}</dt><dd>${text}</dd></div>`)}</dl>`;
}

/** The variants with letter, colour and what they are, most accurate first. */
export function variantLegend({ tasks }: RamsisBundle, keys: readonly VariantKey[]): Markup {
  const { data, shape } = tasks[0]?.serviceTimes.decisionMs ?? { data: [], shape: [] };
  const ordered = [...keys].sort((a, b) => b.accuracy - a.accuracy || a.variant - b.variant);
  const rows = ordered.map((key) => {
    const ms = data[key.variant * (shape[1] ?? 0)] ?? Number.NaN;
    return html`<tr><td>${swatch(key)} ${key.name}</td><td>${ratioText(key.accuracy)}</td><td>${decimalText(ms, ms < 10 ? 2 : 1)}</td><td>${key.dominated ? "dominated, never chosen" : ""}</td></tr>`;
  });
  return html`<div class="scroll"><table><thead><tr><th>variant</th><th>accuracy</th><th>batch of 1, ms</th><th></th></tr></thead><tbody>${rows}</tbody></table></div>`;
}
