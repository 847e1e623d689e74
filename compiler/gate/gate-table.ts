/**
 * Formats the comparison of two bundles as a table, for terminals and as Markdown for pull
 * requests.
 */
import { counted, explainedTable, short } from "stratagem-runtime/internal/describe/text";
import type { Comparison, Verdict } from "./compare.ts";
import {
  chanceText,
  changeText,
  judgementText,
  placeText,
  regressionLine,
} from "./comparison-text.ts";
import type { GateOutcome } from "./gate-outcome.ts";
import { brokenReason, judgedLines } from "./judged-text.ts";
import type { Part, PromisedBundle } from "./promised-bundle.ts";

/** Ascending in severity; a table row shows the most severe verdict. */
const RANKS: readonly Verdict[] = ["unjudged", "same", "new", "better", "allowed", "regression"];

export function gateText(outcome: GateOutcome): string {
  const { rows, requirements } = outcome;
  return [
    headline(outcome),
    ...wholeLines(rows),
    "",
    explainedTable(tableOf(rows, (text, isWorse) => (isWorse ? `${text} !` : text))),
    "",
    ...chanceLines(rows),
    ...regressionsOf(rows).map(regressionLine),
    ...judgedLines(requirements),
    summary(outcome),
  ].join("\n");
}

export function gateMarkdown(outcome: GateOutcome): string {
  const { rows, requirements } = outcome;
  const [heads = [], ...body] = tableOf(rows, (text, isWorse) => (isWorse ? `**${text}**` : text));
  const broken = requirements.filter(({ holds }) => !holds);
  const items = [
    ...regressionsOf(rows).map((one) => `**${placeText(one)}**: ${judgementText(one)}`),
    ...broken.map((one) => `**${one.text}** is broken: ${brokenReason(one)}`),
    ...wholeLines(rows),
    ...chanceLines(rows),
  ];
  return [
    `### ${escaped(summary(outcome))}`,
    "",
    escaped(headline(outcome)),
    "",
    ...items.map((item) => `- ${escaped(item)}`),
    ...(items.length === 0 ? [] : [""]),
    markdownRow(heads),
    markdownRow(heads.map((_, column) => (column === 0 ? "---:" : "---"))),
    ...body.map(markdownRow),
  ].join("\n");
}

/** Formats `letters: 2 regressions in 24 comparisons`. */
function summary({ rows, requirements, after }: GateOutcome): string {
  const judged = rows.filter(({ verdict }) => verdict !== "unjudged" && verdict !== "new");
  const regressions = regressionsOf(rows).length;
  const broken = requirements.filter(({ holds }) => !holds).length;
  const found = [
    ...(regressions === 0 ? [] : [counted(regressions, "regression")]),
    ...(broken === 0 ? [] : [counted(broken, "broken requirement")]),
  ];
  const of = `in ${counted(judged.length, "comparison")}`;
  return `${after.application}: ${found.length === 0 ? "no regression" : found.join(", ")} ${of}`;
}

export function regressionsOf(rows: readonly Comparison[]): readonly Comparison[] {
  return rows.filter(({ verdict }) => verdict === "regression");
}

function chanceLines(rows: readonly Comparison[]): string[] {
  return rows.flatMap((row) => chanceText(row) ?? []);
}

function headline({ before, after, oldPath, newPath }: GateOutcome): string {
  const bundleText = (path: string, { method, levels }: PromisedBundle): string =>
    `${path} (${method}, ${counted(levels.length, "level")})`;
  return `${bundleText(oldPath, before)} → ${bundleText(newPath, after)}`;
}

/** Lists the changes of the whole bundle. */
function wholeLines(rows: readonly Comparison[]): string[] {
  return rows
    .filter(({ loadQps, verdict }) => loadQps === null && verdict !== "same")
    .map((row) => `${placeText(row)}: ${changeText(row)}`);
}

/** Builds a heading row and a row for each load, and for each class, bucket and pace at it. */
function tableOf(
  rows: readonly Comparison[],
  marked: (text: string, isWorse: boolean) => string,
): string[][] {
  const lines = linesOf(rows);
  const judgedRows = lines.flat().filter(({ verdict }) => verdict !== "unjudged");
  const figures = [...new Set(judgedRows.map(({ figure }) => figure))];
  const hasParts = judgedRows.some(({ part }) => part !== null);
  const cell = (line: readonly Comparison[], figure: string): string => {
    const own = line.find((row) => row.figure === figure);
    return own === undefined ? "" : marked(changeText(own), own.verdict === "regression");
  };
  return [
    ["load/s", ...(hasParts ? ["of"] : []), ...figures, "verdict"],
    ...lines.map((line) => [
      short(line[0]?.loadQps ?? 0),
      ...(hasParts ? [nameOf(line[0]?.part ?? null)] : []),
      ...figures.map((figure) => cell(line, figure)),
      verdictOf(line),
    ]),
  ];
}

/** Groups rows by load and part. */
function linesOf(rows: readonly Comparison[]): Comparison[][] {
  const lines = new Map<string, Comparison[]>();
  for (const row of rows) {
    if (row.loadQps === null) continue;
    const key = JSON.stringify([row.loadQps, row.part]);
    const line = lines.get(key);
    if (line === undefined) lines.set(key, [row]);
    else line.push(row);
  }
  return [...lines.values()].filter((line) => line.some(isShown));
}

/** Promises for slower machines are shown only if they changed. */
function isShown({ part, verdict }: Comparison): boolean {
  return part?.kind !== "pace" || !["same", "unjudged"].includes(verdict);
}

function nameOf(part: Part | null): string {
  return part?.kind === "pace" ? `pace ${part.name}` : (part?.name ?? "");
}

function verdictOf(line: readonly Comparison[]): string {
  const rank = Math.max(...line.map(({ verdict }) => RANKS.indexOf(verdict)));
  const verdict = RANKS[rank] ?? "unjudged";
  return verdict === "regression" ? "WORSE" : verdict;
}

function markdownRow(cells: readonly string[]): string {
  return `| ${cells.map((cell) => escaped(cell)).join(" | ")} |`;
}

/** Escapes names from users, so that they cannot be markup or end a cell. */
function escaped(text: string): string {
  return text.replace(/[\\`_[\]<>|]/g, (sign) => `\\${sign}`);
}
