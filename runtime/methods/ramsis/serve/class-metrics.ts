/** What a running server counts of each class of queries, beside what its bundle promises of it. */
import { head, line, type MetricLine } from "../../../server/metrics/exposition.ts";
import { accuracyLines } from "../../../server/metrics/promise-lines.ts";
import type { ClassView } from "../tell/class-level-view.ts";

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

  /** @param accuracyByVariant as the bundle states it. */
  constructor(names: readonly string[], accuracyByVariant: readonly number[]) {
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
    return this.#names.flatMap((slo_class, index) => {
      const { accuracySum: _, ...outcomes } = this.#counts[index] ?? {};
      return Object.entries(outcomes).map(([outcome, count]) =>
        line("stratagem_queries_total", { slo_class, outcome }, count),
      );
    });
  }

  /** @param views of the level that decided last; empty before the first decision. */
  lines(views: readonly ClassView[]): MetricLine[] {
    const gauge = (name: string, help: string, of: (view: ClassView) => number | undefined) => [
      head(name, "gauge", help),
      ...views.map((view) => line(name, { slo_class: view.name }, of(view) ?? Number.NaN)),
    ];
    return [
      ...accuracyLines(
        this.#names.map((slo_class, index) => [
          { slo_class },
          this.#counts[index]?.accuracySum ?? 0,
        ]),
      ),
      ...gauge(
        "stratagem_class_slo_seconds",
        "SLO of a class",
        ({ latencyMs }) => latencyMs / 1000,
      ),
      ...gauge(
        "stratagem_class_workers",
        "Workers of a class at the level that decided last, NaN in one queue",
        ({ workers }) => workers ?? undefined,
      ),
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
