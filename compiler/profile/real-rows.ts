/** Rows of a file or folder that models are measured with, in the forms that `bench` sends. */
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ModelFile } from "stratagem-runtime/internal/bundle/schema";
import { rowBytesOf } from "../onnx/batch-inputs.ts";
import { InputError } from "../spec/document/input-error.ts";
import { digest } from "../spec/document/source.ts";

/** Content of `--inputs`. */
export interface RowsContent {
  readonly path: string;
  /** Files by name; of a file its content alone. */
  readonly parts: readonly Uint8Array[];
  readonly isFolder: boolean;
  readonly sha256: string;
}

/** Rows of one model. */
export interface RealRows {
  /** Name of the file or folder. */
  readonly file: string;
  readonly count: number;
  /** Returns the bytes of every input for the run of that number, each with the next rows. */
  readonly inputs: (run: number, rows: number) => readonly Uint8Array[];
}

/** @throws InputError for a place that cannot be read or is empty. */
export async function readRows(path: string): Promise<RowsContent> {
  try {
    const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOTDIR") return null;
      throw error;
    });
    const files = names === null ? [path] : names.sort().map((name) => join(path, name));
    const parts = await Promise.all(files.map((file) => readFile(file)));
    const sha256 = digest(Buffer.from(parts.map((part) => digest(part)).join()));
    return { path, parts, isFolder: names !== null, sha256 };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new InputError("INPUT_UNREADABLE", `${path}: cannot be read (${code})`);
  }
}

/**
 * Divides the content into rows of a model: raw rows of all inputs one after another; of a model
 * that takes one text, and in a folder, every file is a row.
 * @param model with sizes that are fixed except for axis 0. @param order names of its inputs in the
 * order of the rows.
 * @throws InputError for rows of another length.
 */
export function realRows(
  { inputs }: Pick<ModelFile, "inputs">,
  { path, parts, isFolder }: RowsContent,
  order: readonly string[] = inputs.map(({ name }) => name),
): RealRows {
  const [first, ...others] = inputs;
  const isText = first?.dtype === "string" && others.length === 0;
  const sizes = inputs.map((input) => rowBytesOf(input) ?? 0);
  const rowBytes = sizes.reduce((sum, size) => sum + size, 0);
  const isWhole = isText || isFolder;
  const rows = isWhole ? parts : parts.flatMap((part) => split(part, rowBytes));
  const bad = isText ? undefined : rows.find(({ length }) => length !== rowBytes);
  if (rows.length === 0 || bad !== undefined) {
    const found = bad === undefined ? "none" : `${bad.length} bytes beyond whole rows`;
    const shown = order.map((name) => `"${name}"`).join(", ");
    const message = `expected rows of ${rowBytes} bytes, for the inputs ${shown}, got ${found}`;
    throw new InputError("INPUT_INVALID_VALUE", `${path}: ${message}`);
  }
  const starts = inputs.map(({ name }) => {
    const before = order.slice(0, order.indexOf(name));
    return inputs.reduce((sum, input, at) => {
      return before.includes(input.name) ? sum + (sizes[at] ?? 0) : sum;
    }, 0);
  });
  return {
    file: basename(path),
    count: rows.length,
    inputs: (run, count) => {
      const own = Array.from({ length: count }, (_, row) => {
        return rows[(run * count + row) % rows.length] ?? new Uint8Array();
      });
      if (isText) return [Buffer.concat(own.map(withLength))];
      return sizes.map((size, input) => {
        const from = starts[input] ?? 0;
        return Buffer.concat(own.map((row) => row.subarray(from, from + size)));
      });
    },
  };
}

function split(bytes: Uint8Array, rowBytes: number): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / rowBytes) }, (_, row) => {
    return bytes.subarray(row * rowBytes, (row + 1) * rowBytes);
  });
}

/** Prefixes the length, as the protocol encodes elements of variable length. */
function withLength(bytes: Uint8Array): Uint8Array {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(bytes.length);
  return Buffer.concat([head, bytes]);
}
