/** Where an experiment prints: lines, and tables as columns or as Markdown. */

export type Format = "text" | "markdown";
export const FORMATS: readonly Format[] = ["text", "markdown"];

type Cell = string | number;

export class Page {
  readonly #format: Format;
  readonly #write: (line: string) => void;

  constructor(format: Format, write: (line: string) => void = console.log) {
    this.#format = format;
    this.#write = write;
  }

  say(line = ""): void {
    this.#write(line);
  }

  /** The first column is of names, the others are of numbers. */
  table(head: readonly Cell[], rows: readonly (readonly Cell[])[]): void {
    const lines = this.#format === "text" ? alignedLines([head, ...rows]) : markdown(head, rows);
    for (const line of lines) this.#write(line);
  }
}

function alignedLines(rows: readonly (readonly Cell[])[]): string[] {
  const table = rows.map((row) => row.map(String));
  const widths = (table[0] ?? []).map((_, column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  return table.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd(),
  );
}

function markdown(head: readonly Cell[], rows: readonly (readonly Cell[])[]): string[] {
  const line = (cells: readonly Cell[]) =>
    `| ${cells.map((cell) => String(cell).trim().replaceAll("|", "\\|")).join(" | ")} |`;
  const rule = head.map((_, column) => (column === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)];
}
