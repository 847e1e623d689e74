/** Reads inputs and labels of a load from files. */
import { readFile } from "node:fs/promises";
import { InputError } from "../spec/document/input-error.ts";
import type { LoadModel } from "./infer-codec.ts";
import type { LoadInput } from "./row-workload.ts";

/**
 * Returns the rows of a file, repeatedly.
 * @param inputs raw bytes, one row of the model's inputs after another.
 * @param labels one integer per line, the class of the row; null if unknown.
 * @throws InputError
 */
export async function inputsFromFiles(
  inputs: string,
  labels: string | null,
): Promise<(index: number, model: LoadModel) => LoadInput> {
  const bytes = await read(inputs);
  const classes = labels === null ? null : parseLabels((await read(labels)).toString(), labels);
  return (index, { rowBytes }) => {
    const rowCount = bytes.length / rowBytes;
    if (!Number.isInteger(rowCount) || rowCount === 0) {
      throw invalid(inputs, `rows of ${rowBytes} bytes`, `${bytes.length} bytes`);
    }
    if (classes !== null && classes.length !== rowCount) {
      throw invalid(labels ?? "", `${rowCount} labels`, String(classes.length));
    }
    const row = index % rowCount;
    return {
      bytes: bytes.subarray(row * rowBytes, (row + 1) * rowBytes),
      label: classes?.[row] ?? null,
    };
  };
}

function parseLabels(text: string, file: string): number[] {
  const lines = text.trimEnd().split(/\r?\n/);
  return lines.map((line, index) => {
    if (/^\s*\d{1,9}\s*$/.test(line)) return Number(line);
    throw invalid(`${file}:${index + 1}`, "a whole number", JSON.stringify(line.slice(0, 60)));
  });
}

async function read(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    const message = `${path}: expected a readable file, but it cannot be read (${error.code})`;
    throw new InputError("INPUT_UNREADABLE", message);
  });
}

function invalid(where: string, expected: string, found: string): InputError {
  return new InputError("INPUT_INVALID_VALUE", `${where}: expected ${expected}, got ${found}`);
}
