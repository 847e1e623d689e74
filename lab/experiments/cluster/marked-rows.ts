/** Rows that carry the number of their request, and what runs of models were recorded of them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What a row begins with that carries a number; `run-recorder.cjs` looks for it. */
const MARK = [0xa7, 0x5c];

/** Writes a number into the first six bytes of a row. @param number from 0 to 2^32 − 1. */
export function markRow(row: Uint8Array, number: number): void {
  row.set(MARK);
  new DataView(row.buffer, row.byteOffset).setUint32(MARK.length, number, true);
}

/** How often rows were begun and ended, by the numbers of their requests. */
export interface RecordedRuns {
  readonly began: ReadonlyMap<number, number>;
  readonly ended: ReadonlyMap<number, number>;
}

/** Of all processes that wrote into a folder, those that were killed too. */
export function recordedRuns(folder: string): RecordedRuns {
  const began = new Map<number, number>();
  const ended = new Map<number, number>();
  const files = existsSync(folder) ? readdirSync(folder) : [];
  for (const file of files.filter((name) => name.endsWith(".runs"))) {
    for (const line of readFileSync(join(folder, file), "utf8").split("\n")) {
      const [what, number] = line.split(" ");
      const counts = what === "began" ? began : what === "ended" ? ended : undefined;
      counts?.set(Number(number), (counts.get(Number(number)) ?? 0) + 1);
    }
  }
  return { began, ended };
}
