/** Metrics of the promises of the current level, next to its measurements. */
import { type Histogram, head, type Labels, line, type MetricLine } from "../../base/exposition.ts";
import { meanBetweenQuantiles, probabilityAtMost } from "../../core/quantile-distribution.ts";

/** Promises of a level in its bundle. */
export interface Promised {
  /** Undefined before there is a level. */
  readonly violationRate: number | undefined;
  /** Undefined where the method promises none. */
  readonly accuracyPerSatisfied?: number | undefined;
}

/** @param accuracySum sum of the stated accuracies of the variants that answered rows in time. */
export function promiseLines(promised: Promised, accuracySum: number): MetricLine[] {
  const { violationRate = Number.NaN, accuracyPerSatisfied } = promised;
  return [
    ...accuracyLines([[{}, accuracySum]]),
    ...expectedLines("violations", [[{}, violationRate]]),
    ...(accuracyPerSatisfied === undefined
      ? []
      : expectedLines("accuracy", [[{}, accuracyPerSatisfied]])),
  ];
}

/** @param figure maximum share of rows late or dropped, or accuracy per row answered in time. */
export function expectedLines(
  figure: "violations" | "accuracy",
  ratios: readonly (readonly [labels: Labels, ratio: number])[],
): MetricLine[] {
  const name = "stratagem_expected_ratio";
  return [
    head(name, "gauge", "Maximum violation rate and accuracy promised by the current level"),
    ...ratios.map(([labels, ratio]) => line(name, { ...labels, figure }, ratio)),
  ];
}

/**
 * Adds to a histogram, in seconds, what a distribution predicts of so many times.
 * @param knots ms, see `quantileKnots`. @param factor of all times.
 */
export function expectTimes(
  histogram: Histogram,
  count: number,
  knots: Float64Array,
  factor = 1,
): void {
  const shareAtMost = (seconds: number) => probabilityAtMost(knots, 0, (seconds * 1000) / factor);
  const meanMs = factor * meanBetweenQuantiles(knots, 0, 0, 1);
  histogram.expect(count, shareAtMost, meanMs / 1000);
}

/**
 * @param figure latency or queue time of answered requests, or service time of batches.
 * @param histograms in the bounds of the measured ones.
 */
export function expectedTimeLines(
  figure: "latency" | "queue" | "service_time",
  histograms: readonly (readonly [labels: Labels, histogram: Histogram])[],
): MetricLine[] {
  const name = "stratagem_expected_seconds";
  return [
    head(name, "histogram", "Predicted latencies and queue times of requests, times of batches"),
    ...histograms.flatMap(([labels, one]) => one.lines(name, { ...labels, figure })),
  ];
}

/** @param sums stated accuracies of rows answered in time, by the labels of those rows. */
export function accuracyLines(
  sums: readonly (readonly [labels: Labels, sum: number])[],
): MetricLine[] {
  const name = "stratagem_satisfied_accuracy_total";
  return [
    head(
      name,
      "counter",
      "Sum of the stated accuracies of the variants that answered rows in time",
    ),
    ...sums.map(([labels, sum]) => line(name, labels, sum)),
  ];
}
