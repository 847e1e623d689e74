/** What the level that is followed promises, beside what is measured of it. */
import { head, line, type MetricLine, metric } from "../../base/exposition.ts";

/** Of a level, as its bundle says. */
export interface Promised {
  /** Undefined before there is a level. */
  readonly violationRate: number | undefined;
  /** Undefined where the method promises none. */
  readonly accuracyPerSatisfied?: number | undefined;
}

/** @param accuracySum stated accuracies of whoever answered rows in time, over all those rows. */
export function promiseLines(promised: Promised, accuracySum: number): MetricLine[] {
  const { violationRate = Number.NaN, accuracyPerSatisfied } = promised;
  return [
    ...accuracyLines([[{}, accuracySum]]),
    ...violationLines(violationRate),
    ...(accuracyPerSatisfied === undefined
      ? []
      : metric(
          "stratagem_expected_accuracy_ratio",
          "gauge",
          "Accuracy per row answered in time that this level promises",
          accuracyPerSatisfied,
        )),
  ];
}

export function violationLines(violationRate: number): MetricLine[] {
  return metric(
    "stratagem_expected_violation_ratio",
    "gauge",
    "Share of rows late or dropped that this level promises at most",
    violationRate,
  );
}

/** @param sums stated accuracies of rows answered in time, by the labels of those rows. */
export function accuracyLines(
  sums: readonly (readonly [Readonly<Record<string, string>>, number])[],
): MetricLine[] {
  const name = "stratagem_satisfied_accuracy_total";
  return [
    head(name, "counter", "Stated accuracies of the variants that answered rows in time, summed"),
    ...sums.map(([labels, sum]) => line(name, labels, sum)),
  ];
}
