/**
 * The levels one by one: the policy as a heat map with the use of each variant beside it, and a
 * table of all levels.
 */
import {
  GIVE_UP,
  NO_ACTION,
  type RamsisBundle,
  type RamsisLevel,
  type Table,
} from "stratagem-runtime/internal/bundle/schema";
import { kindBundle } from "stratagem-runtime/internal/methods/ramsis/bundle/kind-views";
import { ramsisMissed } from "stratagem-runtime/internal/methods/ramsis/describe/missed";
import { feasibleCell, missedWords } from "../../../report/kit/feasible-cell.ts";
import { html, type Markup } from "../../../report/markup.ts";
import {
  countedText,
  decimalText,
  msText,
  promisedText,
  ratioText,
  shareText,
} from "../../../report/number-text.ts";
import type { VariantKey } from "../../../report/palette.ts";
import { headRow, tableRow } from "../../../report/table-row.ts";
import { type LatencySummary, percentileText } from "../../../simulate/latency-sample.ts";
import type { SimulationResult } from "../simulate/simulate.ts";
import { drawHeatMap } from "./heat-map.ts";

/**
 * One section per level behind a radio button; the style sheet shows the section of the chosen one,
 * and all of them in print.
 * @param results of the simulated policy, by load.
 */
export function levelSections(
  bundle: RamsisBundle,
  keys: readonly VariantKey[],
  results: ReadonlyMap<number, SimulationResult>,
): Markup {
  const chosen = Math.floor(bundle.levels.length / 2);
  const sections = bundle.levels.map((level, index) => {
    const load = decimalText(level.loadQps);
    return html`<input type="radio" name="level" id="level-${index}"${
      index === chosen
        ? html`
checked`
        : ""
    }><label for="level-${index}">${load}<span class="hidden"> queries/s</span></label>
<section class="level"><h3>${load} queries/s${missedHeading(bundle, level)}</h3>
<div class="figures"><div>${maps(bundle, keys, level, index)}</div>
${variantUse(bundle, keys, level, results.get(level.loadQps))}</div></section>`;
  });
  return html`<div class="levels" role="group" aria-label="level">${sections}</div>`;
}

/** Heading suffix of a level that is not feasible. */
function missedHeading(bundle: RamsisBundle, level: RamsisLevel): string {
  return level.feasible ? "" : `, not feasible: ${missedWords(ramsisMissed(bundle, level))}`;
}

function maps(
  bundle: RamsisBundle,
  keys: readonly VariantKey[],
  level: RamsisLevel,
  index: number,
): Markup {
  const load = decimalText(level.loadQps);
  const draw = (id: string, title: string, table: Table): Markup =>
    drawHeatMap({ id, title, description: mapDescription(bundle, table) }, bundle, table, keys);
  const title = `Variant by queries waiting and slack at ${load} queries/s`;
  const own = html`<figure>${draw(`map-${index}`, title, level.actionByState)}</figure>`;
  if (level.classTables !== undefined) return classMaps(bundle, keys, level, index);
  if (level.mixture === null) return own;
  const { share, actionByState } = level.mixture;
  const second = draw(`mixture-${index}`, `${title}, second table`, actionByState);
  return html`${own}<figure>${second}<figcaption>${ratioText(share)} of the decisions, chosen at
random, follow this second table.</figcaption></figure>`;
}

/** A map for each class, and that of one queue for all. */
function classMaps(
  bundle: RamsisBundle,
  keys: readonly VariantKey[],
  level: RamsisLevel,
  index: number,
): Markup {
  const draw = (one: RamsisBundle, id: string, whose: string, table: Table): Markup => {
    const title =
      `Variant by queries waiting and slack at ${decimalText(level.loadQps)} queries/s, ` +
      `${whose}`;
    return drawHeatMap({ id, title, description: mapDescription(one, table) }, one, table, keys);
  };
  const own = (bundle.slo.classes ?? []).map(({ name }, at) => {
    const alone = kindBundle(bundle, level, at);
    const table = alone.levels[0]?.actionByState ?? level.actionByState;
    const workers = level.classTables?.[at]?.workers ?? 0;
    const map = draw(alone, `map-${index}-${at}`, `class ${name}`, table);
    return html`<figure>${map}<figcaption>Class ${name}, on ${decimalText(workers)} of the
workers.</figcaption></figure>`;
  });
  const all = draw(bundle, `map-${index}`, "all classes", level.actionByState);
  return html`${own}<figure>${all}<figcaption>All classes in one queue, while one of them brings
more than its share.</figcaption></figure>`;
}

/** Text alternative of a map: shares of the cells. */
function mapDescription(bundle: RamsisBundle, { data }: Table): string {
  const actions = bundle.decisionSpace.actions.data;
  const counts = new Map<string, number>();
  for (const action of data) {
    const variant = bundle.tasks[0]?.variants[actions[2 * action] ?? 0];
    const name =
      action === NO_ACTION ? "waiting" : action === GIVE_UP ? "giving up" : (variant?.name ?? "");
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const shares = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${shareText(count / data.length)}`);
  return `Of the states: ${shares.join(", ")}.`;
}

/** Variants in a table, and their use in the simulation. */
function variantUse(
  bundle: RamsisBundle,
  keys: readonly VariantKey[],
  { actionByState, classTables = [], mixture, expected }: RamsisLevel,
  result: SimulationResult | undefined,
): Markup {
  const actions = bundle.decisionSpace.actions.data;
  const own = classTables.map((table) => table.actionByState);
  const cells = [actionByState, ...own, ...(mixture === null ? [] : [mixture.actionByState])];
  const named = new Set(cells.flatMap(({ data }) => [...new Set<number>(data)]));
  const waits = named.delete(NO_ACTION);
  const givesUp = named.delete(GIVE_UP);
  const variants = new Set([...named].map((action) => actions[2 * action]));
  const outcomes = result?.byVariant ?? {};
  const sum = (field: "queries" | "batches"): number =>
    Math.max(
      1,
      Object.values(outcomes).reduce((total, outcome) => total + outcome[field], 0),
    );
  const [queries, batches] = [sum("queries"), sum("batches")];
  const rows = [...keys]
    .filter(({ variant }) => variants.has(variant))
    .sort((a, b) => (a.letter > b.letter ? -1 : 1))
    .map((key) => {
      const use = outcomes[key.name];
      const mean = use?.meanBatch ?? null;
      return tableRow([
        html`<td>${swatch(key)} ${key.name}</td>`,
        shareText((use?.queries ?? 0) / queries),
        shareText((use?.batches ?? 0) / batches),
        mean === null ? "–" : decimalText(mean, 1),
      ]);
    });
  const late = bundle.policy.drop ? "dropped" : "served late";
  const signs = [
    ...(waits ? [html`<span class="chip wait"></span> wait for more queries`] : []),
    ...(givesUp
      ? [html`<span class="chip give-up"></span> drop the earliest query, to be ${late}`]
      : []),
  ];
  const [sign, other] = signs;
  const more = other === undefined ? "" : html`; ${other}`;
  const wait = sign === undefined ? "" : html`<p class="note">${sign}${more}</p>`;
  const latency = result?.latencyMs ?? null;
  const promise =
    `Expected: accuracy ${ratioText(expected.accuracyPerQuery)} per query (bound of any policy ` +
    `that keeps the ceiling: ${ratioText(expected.upperBoundAccuracy)}), ` +
    `violations ${promisedText(expected)}${latencyText(expected)}.`;
  const simulated =
    latency === null
      ? ""
      : ` Simulated latency: median ${msText(latency.p50)}, 99th percentile ` +
        `${percentileText(latency.p99, latency.intervals?.p99, msText)}.`;
  return html`<div><p>${promise}${simulated}</p>
<div class="scroll"><table>
<thead>${headRow(["variant", "of queries", "of decisions", "mean batch"])}</thead>
<tbody>${rows}</tbody></table></div>${wait}</div>`;
}

function latencyText({ latencyMs }: RamsisLevel["expected"]): string {
  if (latencyMs === undefined) return "";
  return `, latency: median ${msText(latencyMs.p50)}, 99th percentile ${msText(latencyMs.p99)}`;
}

export function swatch({ letter, color }: VariantKey): Markup {
  return html`<span class="chip" style="background:${color}">${letter}</span>`;
}

function msCell(ms: number | undefined): string {
  return ms === undefined ? "–" : decimalText(ms, 1);
}

/** The simulated percentile, with its interval if it has one. */
export function p99Cell(latency: LatencySummary | null): string {
  if (latency === null) return "–";
  return percentileText(latency.p99, latency.intervals?.p99, (ms) => decimalText(ms, 1));
}

/** One row per level. */
export function levelTable(
  bundle: RamsisBundle,
  results: ReadonlyMap<number, SimulationResult>,
): Markup {
  const rows = bundle.levels.map((level) => {
    const { loadQps, expected, feasible } = level;
    const result = results.get(loadQps);
    const isFeasible = feasibleCell(feasible, ramsisMissed(bundle, level));
    return tableRow([
      decimalText(loadQps, 2),
      isFeasible,
      ratioText(expected.accuracyPerSatisfied),
      ratioText(expected.accuracyPerQuery),
      ratioText(expected.upperBoundAccuracy),
      promisedText(expected),
      msCell(expected.latencyMs?.p50),
      msCell(expected.latencyMs?.p99),
      ratioText(result?.accuracyPerQuery ?? null),
      result === undefined ? "–" : countedText(result.queries - result.satisfied, result.queries),
      p99Cell(result?.latencyMs ?? null),
    ]);
  });
  return html`<div class="scroll" role="region" aria-label="all levels" tabindex="0"><table
id="level-table"><thead>
<tr><th colspan="2"></th><th colspan="6">expected</th><th colspan="3">simulated</th></tr>
${headRow([
  "queries/s",
  "feasible",
  "accuracy per satisfied",
  "accuracy per query",
  "upper bound",
  "violations",
  "p50, ms",
  "p99, ms",
  "accuracy per query",
  "violations",
  "p99, ms",
])}</thead>
<tbody>${rows}</tbody></table></div>`;
}
