/** `gate OLD NEW --show`: exit code 2 when the bundles say different things. */

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
/** Lines of a screen, summary included. */
const SCREEN_LINES = 40;

/** @throws BundleError or RuntimeError if one of the files is no good. */
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

/** Levels of both bundles, those of the same load once. */
function countLevels(before: Bundle, after: Bundle): number {
  return new Set([...before.levels, ...after.levels].map(({ loadQps }) => loadQps)).size;
}

interface DiffTextOptions {
  /** Levels of both bundles together; null where it is not known. */
  readonly levelCount?: number | null;
  /** What shows the rest of it where a screen does not; null to show all of it. */
  readonly allBy?: string | null;
}

/** A summary, and the differences one by one. */
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
  const what = states === 0 ? plan : `${changedStates} of ${states} states decided otherwise`;
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

/** A batch of none is no batch: the queue waits, or its first query is given up. */
function decisionText({ variant, batch }: Decision): string {
  return batch === 0 ? variant : `${variant} ×${batch}`;
}

function valueText(value: unknown): string {
  if (value === undefined) return "absent";
  const text = String(value);
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}
