/** Implements `gate OLD NEW --show`, which exits with 2 if the bundles differ. */

import { EXIT_CODES } from "stratagem-runtime/internal/base/errors";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import type {
  Decision,
  FieldDiff,
  LevelDiff,
} from "stratagem-runtime/internal/describe/level-diff";
import { counted, short } from "stratagem-runtime/internal/describe/text";
import { type BundleDiff, diffBundles } from "./differences.ts";
import { diffSummary, hasOtherPlan } from "./differences-summary.ts";

const MAX_VALUE_LENGTH = 60;
/** Lines of output, including the summary. */
const SCREEN_LINES = 40;

/** @throws BundleError or RuntimeError for an invalid file. */
export async function showDifferences(before: string, after: string): Promise<CommandResult> {
  const files = [await loadBundle(before), await loadBundle(after)] as const;
  const diff = diffBundles(files[0].bundle, files[1].bundle);
  const [a, b] = files.map(({ path, sha256 }) => ({ path, sha256 }));
  const levelCount = countLevels(files[0].bundle, files[1].bundle);
  return {
    exitCode: diff.same ? EXIT_CODES.ok : EXIT_CODES.different,
    text: diffText(diff, { levelCount, allBy: null }),
    json: { before: a, after: b, ...diff },
  };
}

/** Counts the distinct loads of both bundles. */
function countLevels(before: Bundle, after: Bundle): number {
  return new Set([...before.levels, ...after.levels].map(({ loadQps }) => loadQps)).size;
}

interface DiffTextOptions {
  /** Number of distinct loads in both bundles; null if unknown. */
  readonly levelCount?: number | null;
  /** Hint how to show the omitted lines; null to show all. */
  readonly allBy?: string | null;
}

/** Formats a summary followed by the differences. */
export function diffText(
  diff: BundleDiff,
  { levelCount = null, allBy = null }: DiffTextOptions = {},
): string {
  const summary = diffSummary({ ...diff, levelCount });
  if (diff.same) return summary.join("\n");
  const details = [...diff.fields.map(fieldText), ...diff.levels.flatMap(levelText)];
  const room = allBy === null ? details.length : Math.max(1, SCREEN_LINES - summary.length - 2);
  const left = details.length - Math.min(room, details.length);
  return [
    ...summary,
    "",
    ...details.slice(0, room),
    ...(left === 0 ? [] : [`and ${counted(left, "line")} more; ${allBy}`]),
  ].join("\n");
}

function fieldText({ path, before, after }: FieldDiff): string {
  return `${path}: ${valueText(before)} → ${valueText(after)}`;
}

function levelText(level: LevelDiff): string[] {
  const { loadQps, change, fields, changedStates, states, examples } = level;
  const at = `level ${short(loadQps)} qps`;
  if (change !== "changed") return [`${at}: ${change}`];
  const plan = fields.length === 0 || hasOtherPlan(level) ? "another plan" : "other figures";
  const what = states === 0 ? plan : `${changedStates} of ${states} states decided differently`;
  return [
    `${at}: ${what}`,
    ...fields.map((field) => `  ${fieldText(field)}`),
    ...examples.map(({ sloClass, bucket, queued, slackMs, before, after }) => {
      const ofBucket = bucket === undefined ? "" : `bucket ${bucket}, `;
      const whose = sloClass === undefined ? ofBucket : `class ${sloClass}, `;
      const state = `queued ${queued}, slack ${short(slackMs)} ms`;
      return `  ${whose}${state}: ${decisionText(before)} → ${decisionText(after)}`;
    }),
  ];
}

/** A batch of 0 means that the queue waits, or that its first query is dropped. */
function decisionText({ variant, batch }: Decision): string {
  return batch === 0 ? variant : `${variant} ×${batch}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return "absent";
  const text = String(value);
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}
