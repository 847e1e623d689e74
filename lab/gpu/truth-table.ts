/** The truth table as JSON, as text for a terminal, and as Markdown of 100 columns. */
import { alignColumns } from "stratagem-runtime/internal/describe/text";
import type { SectionResult } from "./section-run.ts";

export interface TruthTable {
  readonly format: "gpu-check/1";
  /** Of a software driver the sentence that its figures say nothing about hardware. */
  readonly device: string;
  readonly isSoftware: boolean;
  readonly isQuick: boolean;
  readonly machine: string;
  readonly takenAt: string;
  readonly sections: readonly SectionResult[];
}

const COLUMNS = 100;

/** A section as it is printed when it is done. */
export function sectionText(section: SectionResult, number: number): string {
  const { title, columns, rows, seconds } = section;
  const lines = [`${number}. ${title} (${seconds} s)`];
  if (rows.length > 0) lines.push(alignColumns([[...columns], ...rows.map((row) => [...row])]));
  return [...lines, ...remarksOf(section).flatMap((remark) => wrapped(`- ${remark}`))].join("\n");
}

function remarksOf({ notes, error, broken, rows }: SectionResult): string[] {
  return [
    ...notes,
    ...(error === null ? [] : [`FAILED: ${error}${rows.length > 0 ? "; the rows are real" : ""}`]),
    ...(broken === 0 ? [] : [`${broken} of ${rows.length} do not hold`]),
  ];
}

/** What it comes to, in one line. */
export function verdictText({ sections, isSoftware }: TruthTable): string {
  const failed = sections.filter(({ error }) => error !== null).map(({ name }) => name);
  const broken = sections.filter((section) => section.broken > 0).map(({ name }) => name);
  const parts = [
    `${sections.length - failed.length} of ${sections.length} sections`,
    broken.length === 0 ? "all that is judged holds" : `does not hold: ${broken.join(", ")}`,
    ...(failed.length === 0 ? [] : [`not whole: ${failed.join(", ")}`]),
    ...(isSoftware ? ["times and promises were told, not judged"] : []),
  ];
  return parts.join("; ");
}

export function markdownOf(table: TruthTable): string {
  const { device, machine, takenAt, sections } = table;
  const lines = [
    "# GPU check",
    "",
    ...wrapped(`Device: ${device}.`),
    ...wrapped(`Machine: ${machine}. Taken ${takenAt}.`),
    ...wrapped(`Result: ${verdictText(table)}.`),
  ];
  for (const [at, section] of sections.entries()) {
    lines.push("", ...wrapped(`## ${at + 1}. ${section.title}`), "");
    if (section.rows.length > 0) lines.push(...markdownRows(section), "");
    lines.push(...remarksOf(section).flatMap((remark) => wrapped(`- ${remark}`, "  ")));
    if (lines.at(-1) === "") lines.pop();
  }
  return `${lines.join("\n")}\n`;
}

function markdownRows({ columns, rows }: SectionResult): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(columns), line(columns.map(() => "---")), ...rows.map(line)];
}

/** @param indent of the lines after the first. */
function wrapped(text: string, indent = ""): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(/\s+/)) {
    if (line !== "" && line.length + 1 + word.length > COLUMNS) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
