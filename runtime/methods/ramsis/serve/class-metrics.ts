/**
 * What a running server counts of each class of queries, or each bucket, beside what its bundle
 * promises of it.
 */
import { head, line, type MetricLine } from "../../../base/exposition.ts";
import { accuracyLines } from "../../../server/metrics/promise-lines.ts";
import type { RequestMetrics } from "../../../server/requests/request-metrics.ts";
import type { ClassView } from "../describe/class-level-view.ts";

/** Queries are of classes, or of buckets. */
export type KindLabel = "slo_class" | "bucket";

type Gauge = (
  name: string,
  help: string,
  of: (view: ClassView) => number | undefined,
) => readonly MetricLine[];

/** What classes have of their own. */
function ofClasses(gauge: Gauge): MetricLine[] {
  return [
    ...gauge("stratagem_class_slo_seconds", "SLO of a class", ({ latencyMs }) => latencyMs / 1000),
    ...gauge(
      "stratagem_class_workers",
      "Workers of a class at the level that decided last, NaN in one queue",
      ({ workers }) => workers ?? undefined,
    ),
  ];
}

interface Counts {
  satisfied: number;
  late: number;
  dropped: number;
  /** Of the variants that answered in time. */
  accuracySum: number;
}

export class ClassMetrics {
  readonly #names: readonly string[];
  readonly #counts: readonly Counts[];
  readonly #accuracyByVariant: readonly number[];
  readonly #label: KindLabel;

  /** @param accuracyByVariant as the bundle states it. @param label that tells them apart. */
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

  /** How much of what workers compute is padding. */
  paddingLines(byBucket: RequestMetrics["paddingByBucket"]): MetricLine[] {
    const counter = (name: string, help: string, of: (index: number) => number) => [
      head(name, "counter", help),
      ...this.#names.map((bucket, index) => line(name, { bucket }, of(index))),
    ];
    return [
      ...counter(
        "stratagem_padded_requests_total",
        "Requests that were read, by the bucket that holds them",
        (index) => byBucket.get(index)?.requests ?? 0,
      ),
      ...counter(
        "stratagem_input_elements_total",
        "Elements of inputs, padding included",
        (index) => byBucket.get(index)?.elements ?? 0,
      ),
      ...counter(
        "stratagem_padding_elements_total",
        "Elements that were filled in",
        (index) => byBucket.get(index)?.filled ?? 0,
      ),
    ];
  }

  /** @param views of the level that decided last; empty before the first decision. */
  lines(views: readonly ClassView[]): MetricLine[] {
    const gauge = (name: string, help: string, of: (view: ClassView) => number | undefined) => [
      head(name, "gauge", help),
      ...views.map((view) => line(name, { [this.#label]: view.name }, of(view) ?? Number.NaN)),
    ];
    return [
      ...accuracyLines(
        this.#names.map((name, index) => [
          { [this.#label]: name },
          this.#counts[index]?.accuracySum ?? 0,
        ]),
      ),
      ...(this.#label === "bucket" ? [] : ofClasses(gauge)),
      ...gauge(
        "stratagem_expected_accuracy_ratio",
        "Accuracy per row answered in time that this level promises",
        ({ expected }) => expected?.accuracyPerSatisfied,
      ),
      ...gauge(
        "stratagem_expected_violation_ratio",
        "Share of rows late or dropped that this level promises at most",
        ({ expected }) => expected?.violationRate,
      ),
    ];
  }
}
