/** A recalibrated profile in words: every cell before and after, and what it is from. */
import {
  alignColumns,
  counted,
  percent,
  rounded,
  wrapped,
} from "stratagem-runtime/internal/describe/text";
import type { AccuracyChange } from "./observed-accuracy.ts";
import { quantileOf, type RecalibratedCell } from "./recalibrated-profile.ts";

interface RecalibratedTold {
  readonly out: string;
  readonly stretch: {
    readonly factor: number;
    readonly busyWorkers: number | null;
    readonly isCurveKnown: boolean;
  };
  readonly cells: readonly RecalibratedCell[];
  /** Null where accuracies were not asked for. */
  readonly accuracy: readonly AccuracyChange[] | null;
}

export function recalibratedText({ out, stretch, cells, accuracy }: RecalibratedTold): string {
  const count = (source: RecalibratedCell["source"]) => {
    return cells.filter((cell) => cell.source === source).length;
  };
  const lines = [
    `${out}: ${counted(count("observed"), "cell")} observed, ${count("scaled")} scaled as the ` +
      `observed ones of the same variant, ${count("kept")} kept`,
    wrapped(stretchText(stretch)),
    "",
    cellTable(cells),
  ];
  if (accuracy !== null) lines.push("", ...accuracyLines(accuracy));
  return lines.join("\n");
}

function stretchText({ factor, busyWorkers, isCurveKnown }: RecalibratedTold["stretch"]): string {
  if (isCurveKnown && busyWorkers !== null) {
    return (
      `divided by ${factor.toFixed(3)}, the profile's contention with ${rounded(busyWorkers)} ` +
      "workers busy in the mean"
    );
  }
  const why = isCurveKnown
    ? "how many workers were busy is not known"
    : "the profile has no contention curve";
  return `times are as under the load that they were observed under: ${why}`;
}

function cellTable(cells: readonly RecalibratedCell[]): string {
  const hasPlaces = cells.some(({ place }) => place !== "");
  return alignColumns([
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
  if (changes.length === 0) return ["accuracies: feedback says nothing of these variants"];
  const rows = changes.map(({ variant, before, after, lower, upper, labels, isChanged }) => [
    ...[variant, percent(before), percent(after), `${percent(lower)} to ${percent(upper)}`],
    ...[String(labels), isChanged ? "changed" : "kept"],
  ]);
  return [
    alignColumns([["variant", "accuracy", "now", "observed between", "labels", ""], ...rows]),
    "accuracies that a spec states come before those of its profiles",
  ];
}
