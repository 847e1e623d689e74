/** Reports the accuracy of a model in service, as a document and as metrics. */
import { head, line, type MetricLine } from "../../base/exposition.ts";
import { bufferedByteLines, refusedLines } from "../../base/metric-families.ts";
import type { FeedbackBook } from "./feedback-book.ts";
import { ALPHA, type VariantAccuracy } from "./variant-counts.ts";

interface FeedbackDocument {
  readonly model: string;
  /** When counting began, in the format of RFC 3339. */
  readonly since: string;
  /** Confidence level of the intervals, valid at all times simultaneously. */
  readonly confidence: number;
  readonly variants: Readonly<Record<string, VariantReport>>;
}

interface VariantReport {
  /** Accuracy in the bundle; null if several paths are counted as one. */
  readonly profiled: number | null;
  readonly labels: { readonly correct: number; readonly wrong: number };
  /** Null without observations. */
  readonly estimate: number | null;
  readonly lower: number;
  readonly upper: number;
}

export function feedbackDocument(book: FeedbackBook): FeedbackDocument {
  const accuracies = book.counts.accuracies();
  return {
    model: book.model,
    since: new Date(book.sinceEpochMs).toISOString(),
    confidence: 1 - ALPHA,
    variants: Object.fromEntries(accuracies.map((one) => [one.name, variantReport(one)])),
  };
}

function variantReport(accuracy: VariantAccuracy): VariantReport {
  const { profiled, labels, estimate, lower, upper } = accuracy;
  return {
    profiled: Number.isNaN(profiled) ? null : profiled,
    labels,
    estimate,
    lower,
    upper,
  };
}

/** Metrics of a model, to be labelled with its application. */
export function feedbackLines(book: FeedbackBook): MetricLine[] {
  const accuracies = book.counts.accuracies();
  const { unknown, repeated } = book.refused;
  const feedback = "stratagem_feedback_total";
  const observed = "stratagem_observed_accuracy_ratio";
  return [
    head(feedback, "counter", "Rows that feedback called right or wrong, by variant"),
    ...accuracies.flatMap(({ name: variant, labels }) => [
      line(feedback, { variant, correct: "true" }, labels.correct),
      line(feedback, { variant, correct: "false" }, labels.wrong),
    ]),
    head(observed, "gauge", "Accuracy in service by feedback, NaN without feedback"),
    ...accuracies.flatMap(({ name: variant, estimate, lower, upper }) => [
      line(observed, { variant, bound: "estimate" }, estimate ?? Number.NaN),
      line(observed, { variant, bound: "lower" }, lower),
      line(observed, { variant, bound: "upper" }, upper),
    ]),
    ...bufferedByteLines("feedback", book.bytes),
    ...refusedLines("feedback", Object.entries({ unknown, repeated })),
  ];
}
