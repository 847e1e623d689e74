/** What `/metrics` tells of a bundle that looks on. */
import { head, line, type MetricLine, metric } from "../metrics/exposition.ts";
import type { PolicyCounts } from "./policy-counts.ts";
import type { ShadowView } from "./shadow-report.ts";

const NAME = "stratagem_shadow_policy";

/** Of both sides: `policy` is "served" or "shadow". */
export function shadowLines(view: ShadowView): readonly MetricLine[] {
  const { served, shadow, shadowBundle, fault, pairs, arrivals } = view;
  const sides = [
    ["served", served],
    ["shadow", shadow],
  ] as const;
  const own = { sha256: shadowBundle.sha256 };
  const compared = pairs.counts.reduce((sum, { queries }) => sum + queries, 0);
  return [
    ...metric(`${NAME}_info`, "gauge", "1, with the SHA-256 of the bundle that looks on", 1, own),
    ...metric(`${NAME}_up`, "gauge", "1 while the bundle looks on", fault === null ? 1 : 0),
    head(`${NAME}_level`, "gauge", "Index of the level that decided last, of each policy"),
    ...sides.map(([policy, { level }]) => line(`${NAME}_level`, { policy }, level)),
    ...outcomeLines(sides),
    ...variantLines(sides),
    ...metric(
      `${NAME}_compared_total`,
      "counter",
      "Queries whose outcome under both policies is known",
      compared,
    ),
    ...metric(
      `${NAME}_same_answerer_total`,
      "counter",
      "Those of them that variants of the same name answer, or none",
      sameAnswerer(view),
    ),
    ...metric(
      `${NAME}_arrivals`,
      "gauge",
      "Arrivals of the last hour that are kept for simulations",
      arrivals.count,
    ),
  ];
}

type Sides = readonly (readonly [policy: string, counts: PolicyCounts])[];

function outcomeLines(sides: Sides): readonly MetricLine[] {
  const queries = `${NAME}_queries_total`;
  const right = `${NAME}_right_answers_total`;
  return [
    head(queries, "counter", "Queries by what became of them, or would have, under each policy"),
    ...sides.flatMap(([policy, { soFar }]) => [
      line(queries, { policy, outcome: "in-time" }, soFar.inTime),
      line(queries, { policy, outcome: "late" }, soFar.late),
      line(queries, { policy, outcome: "dropped" }, soFar.dropped),
      line(queries, { policy, outcome: "refused" }, soFar.refused),
    ]),
    head(right, "counter", "Accuracies of the variants of queries in time, summed"),
    ...sides.map(([policy, { soFar }]) => line(right, { policy }, soFar.accuracySum)),
  ];
}

function variantLines(sides: Sides): readonly MetricLine[] {
  const batches = `${NAME}_batches_total`;
  const rows = `${NAME}_batch_queries_total`;
  const lines = (name: string, of: "batches" | "queries") =>
    sides.flatMap(([policy, { variants, soFar }]) =>
      variants.map(({ task, variant }, index) => {
        const labels = { policy, ...(task === undefined ? {} : { task }), variant };
        return line(name, labels, soFar.byVariant[index]?.[of] ?? 0);
      }),
    );
  return [
    head(batches, "counter", "Batches that each policy starts, or would have"),
    ...lines(batches, "batches"),
    head(rows, "counter", "Queries of these batches"),
    ...lines(rows, "queries"),
  ];
}

function sameAnswerer({ pairs, served, shadow }: ShadowView): number {
  return pairs.counts.reduce((sum, pair) => {
    const one = served.variants[pair.served];
    const other = shadow.variants[pair.shadow];
    const isSame = one?.variant === other?.variant && one?.task === other?.task;
    return isSame ? sum + pair.queries : sum;
  }, 0);
}
