/** `diff BEFORE AFTER`: exit code 2 when the bundles say different things. */
import { type BundleDiff, diffBundles } from "../diff.ts";
import { EXIT_CODES } from "../errors.ts";
import { loadBundle } from "../load-bundle.ts";
import type { FieldDiff, LevelDiff } from "../tell/level-diff.ts";
import { short } from "../tell/text.ts";
import type { CommandResult } from "./command-result.ts";

const MAX_VALUE_LENGTH = 60;
/** What is foretold of a level, not what is done. */
const FIGURES = /^(expected\.|feasible$|capacityQps$)/;

/** @throws BundleError or RuntimeError if one of the files is no good. */
export async function diffCommand(before: string, after: string): Promise<CommandResult> {
  const files = [await loadBundle(before), await loadBundle(after)] as const;
  const diff = diffBundles(files[0].bundle, files[1].bundle);
  const [a, b] = files.map(({ path, sha256 }) => ({ path, sha256 }));
  return {
    exitCode: diff.same ? EXIT_CODES.ok : EXIT_CODES.different,
    text: diffText(diff),
    json: { before: a, after: b, ...diff },
  };
}

export function diffText({ same, fields, levels }: BundleDiff): string {
  if (same) return "the bundles are the same";
  return [...fields.map(fieldText), ...levels.flatMap(levelText)].join("\n");
}

function fieldText({ path, before, after }: FieldDiff): string {
  return `${path}: ${valueText(before)} → ${valueText(after)}`;
}

function levelText(level: LevelDiff): string[] {
  const { loadQps, change, fields, changedStates, states, examples } = level;
  if (change !== "changed") return [`level ${loadQps} qps: ${change}`];
  const plan =
    fields.length > 0 && fields.every(({ path }) => FIGURES.test(path))
      ? "other figures"
      : "another plan";
  const what = states === 0 ? plan : `${changedStates} of ${states} states decided otherwise`;
  return [
    `level ${loadQps} qps: ${what}`,
    ...fields.map((field) => `  ${fieldText(field)}`),
    ...examples.map(
      ({ sloClass, queued, slackMs, before, after }) =>
        `  ${sloClass === undefined ? "" : `class ${sloClass}, `}queued ${queued}, slack ${short(slackMs)} ms: ${before.variant} ×${before.batch} → ${after.variant} ×${after.batch}`,
    ),
  ];
}

function valueText(value: unknown): string {
  if (value === undefined) return "absent";
  const text = String(value);
  return text.length > MAX_VALUE_LENGTH ? `${text.slice(0, MAX_VALUE_LENGTH)}…` : text;
}
