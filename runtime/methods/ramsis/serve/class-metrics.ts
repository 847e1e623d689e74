/** Counts of each class of queries, or each bucket, beside the promises of the bundle. */
import { head, line, type MetricLine } from "../../../base/exposition.ts";
import type { ClassExpected } from "../../../bundle/schema.ts";
import { accuracyLines, expectedLines } from "../../../server/metrics/promise-lines.ts";
import type { RequestMetrics } from "../../../server/requests/request-metrics.ts";
import { sloLines } from "../../../server/requests/request-metrics.ts";
import type { ClassView } from "../describe/class-level-view.ts";

/** Queries are of classes, or of buckets. */
export type KindLabel = "slo_class" | "bucket";

interface Counts {
  satisfied: number;
  late: number;
  dropped: number;
  /** Sum of the accuracies of variants that answered in time. */
  accuracySum: number;
}

export class ClassMetrics {
  readonly #names: readonly string[];
  readonly #counts: readonly Counts[];
  readonly #accuracyByVariant: readonly number[];
  readonly #label: KindLabel;

  /** @param accuracyByVariant as the bundle states it. @param label of the metrics' samples. */
  constructor(names: readonly string[], accuracyByVariant: readonly number[], label: KindLabel) {
    this.#label = label;
    this.#names = names;
    this.#counts = names.map(() => ({ satisfied: 0, late: 0, dropped: 0, accuracySum: 0 }));
    this.#accuracyByVariant = accuracyByVariant;
  }

  onQueryDropped(sloClass: number): void {
    const counts = this.#counts[sloClass];
    if (counts !== undefined) counts.dropped++;
  }

  onQueryAnswered(isLate: boolean, sloClass: number, variant: number): void {
    const counts = this.#counts[sloClass];
    if (counts === undefined) return;
    if (isLate) counts.late++;
    else {
      counts.satisfied++;
      counts.accuracySum += this.#accuracyByVariant[variant] ?? 0;
    }
  }

  /** Samples of `stratagem_queries_total`. */
  queryLines(): MetricLine[] {
    return this.#names.flatMap((name, index) => {
      const { accuracySum: _, ...outcomes } = this.#counts[index] ?? {};
      return Object.entries(outcomes).map(([outcome, count]) =>
        line("stratagem_queries_total", { [this.#label]: name, outcome }, count),
      );
    });
  }

  /** Metrics of the padding in the workers' inputs. */
  paddingLines(byBucket: RequestMetrics["paddingByBucket"]): MetricLine[] {
    const name = "stratagem_input_elements_total";
    return [
      head(name, "counter", "Elements of inputs that requests had, and that were filled in"),
      ...this.#names.flatMap((bucket, index) => {
        const { elements = 0, filled = 0 } = byBucket.get(index) ?? {};
        return [
          line(name, { bucket, kind: "data" }, elements - filled),
          line(name, { bucket, kind: "padding" }, filled),
        ];
      }),
    ];
  }

  /** @param views of the level that decided last; empty before the first decision. */
  lines(views: readonly ClassView[]): MetricLine[] {
    const ratios = (of: (expected: ClassExpected) => number) =>
      views.map(({ name, expected }) => {
        return [{ [this.#label]: name }, expected === null ? Number.NaN : of(expected)] as const;
      });
    return [
      ...accuracyLines(
        this.#names.map((name, index) => [
          { [this.#label]: name },
          this.#counts[index]?.accuracySum ?? 0,
        ]),
      ),
      ...(this.#label === "bucket" ? [] : views.flatMap(sloLine)),
      ...expectedLines(
        "accuracy",
        ratios(({ accuracyPerSatisfied }) => accuracyPerSatisfied),
      ),
      ...expectedLines(
        "violations",
        ratios(({ violationRate }) => violationRate),
      ),
    ];
  }
}

function sloLine({ name, latencyMs }: ClassView): MetricLine[] {
  return sloLines([[{ slo_class: name }, latencyMs]]);
}
