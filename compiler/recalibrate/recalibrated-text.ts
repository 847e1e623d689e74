/** Report of a recalibrated profile: every cell before and after, and the source of its times. */
import {
  counted,
  explainedTable,
  percent,
  rounded,
  wrapped,
} from "stratagem-runtime/internal/describe/text";
import type { AccuracyChange } from "./observed-accuracy.ts";
import { quantileOf, type RecalibratedCell } from "./recalibrated-profile.ts";

interface RecalibrationReport {
  readonly out: string;
  readonly stretch: {
    readonly factor: number;
    readonly busyWorkers: number;
    readonly isCurveKnown: boolean;
  };
  readonly cells: readonly RecalibratedCell[];
  /** Null if accuracies were not requested. */
  readonly accuracy: readonly AccuracyChange[] | null;
}

export function recalibratedText({ out, stretch, cells, accuracy }: RecalibrationReport): string {
  const count = (source: RecalibratedCell["source"]) => {
    return cells.filter((cell) => cell.source === source).length;
  };
  const lines = [
    `${out}: ${counted(count("observed"), "cell")} observed, ${count("scaled")} scaled like the ` +
      `observed cells of their variant, ${count("kept")} kept`,
    wrapped(stretchText(stretch)),
    "",
    cellTable(cells),
  ];
  if (accuracy !== null) lines.push("", ...accuracyLines(accuracy));
  return lines.join("\n");
}

function stretchText({
  factor,
  busyWorkers,
  isCurveKnown,
}: RecalibrationReport["stretch"]): string {
  if (!isCurveKnown) {
    return "times are not divided for contention: the profile has no contention curve";
  }
  return (
    `divided by ${factor.toFixed(3)}, the profile's contention with ${rounded(busyWorkers)} ` +
    "workers busy on average"
  );
}

function cellTable(cells: readonly RecalibratedCell[]): string {
  const hasPlaces = cells.some(({ place }) => place !== "");
  return explainedTable([
    [
      ...["variant", "batch", ...(hasPlaces ? ["of"] : [])],
      ...["p50 ms", "now", "p95 ms", "now", "change", "samples", ""],
    ],
    ...cells.map(({ variant, batch, place, before, after, samples, source }) => [
      ...[variant, batch, ...(hasPlaces ? [place] : [])],
      ...[rounded(quantileOf(before, "p50")), rounded(quantileOf(after, "p50"))],
      ...[rounded(quantileOf(before, "p95")), rounded(quantileOf(after, "p95"))],
      `${(quantileOf(after, "p95") / quantileOf(before, "p95")).toFixed(2)}x`,
      ...[String(samples), source],
    ]),
  ]);
}

function accuracyLines(changes: readonly AccuracyChange[]): string[] {
  if (changes.length === 0) return ["accuracies: the feedback has none of these variants"];
  const rows = changes.map(({ variant, before, after, lower, upper, labels, isChanged }) => [
    ...[variant, percent(before), percent(after), `${percent(lower)} to ${percent(upper)}`],
    ...[String(labels), isChanged ? "changed" : "kept"],
  ]);
  return [
    explainedTable([["variant", "accuracy", "now", "observed between", "labels", ""], ...rows]),
    "accuracies stated in a spec override those of its profiles",
  ];
}
