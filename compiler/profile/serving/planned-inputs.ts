/** Rows to send: from a file, from samples of modules, or random as in `profile`. */
import { readFile } from "node:fs/promises";
import { bucketCount } from "stratagem-runtime/internal/bundle/schema";
import { randomInputs, sizedInputs } from "../../onnx/batch-inputs.ts";
import { InputError } from "../../spec/document/input-error.ts";
import type { ProfilePlan } from "../profile-plan.ts";
import type { ShapeOf } from "./served-model.ts";
import type { RowsOf } from "./served-request.ts";

/**
 * @param file of raw rows of all inputs, one after the other; null to use the plan's rows.
 * @throws InputError for a file that cannot be read or is too short.
 */
export async function planRows(
  plan: ProfilePlan,
  file: string | null,
  seed: number,
): Promise<RowsOf> {
  if (file !== null) return fileRows(file);
  return (input, rows) => {
    for (const { model, samples, host } of plan.variants) {
      const index = model.inputs.findIndex(({ name }) => name === input.name);
      if (index < 0) continue;
      const sample = samples?.get(1)?.[index];
      if (sample !== undefined) return repeated(sample, rows);
      if (host !== undefined) continue;
      const sized = sizedInputs(model, bucketCount(model.buckets) - 1);
      const bytes = randomInputs(sized, rows, seed)[index];
      const isFitting = input.rowBytes === null || bytes?.length === rows * input.rowBytes;
      if (bytes !== undefined && isFitting) return bytes;
    }
    return null;
  };
}

/** Returns the largest shape for inputs with several sizes. */
export function planShapes(plan: ProfilePlan): ShapeOf {
  return (input) => {
    for (const { model } of plan.variants) {
      const sized = sizedInputs(model, bucketCount(model.buckets) - 1);
      const found = sized.inputs.find(({ name }) => name === input);
      if (found !== undefined) return found.shape.slice(1);
    }
    return null;
  };
}

function repeated(row: Uint8Array, rows: number): Uint8Array {
  return Buffer.concat(Array.from({ length: rows }, () => row));
}

/** Returns the first row of the file, for an application with one input. */
async function fileRows(file: string): Promise<RowsOf> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw new InputError("INPUT_UNREADABLE", `${file}: cannot be read (${error.code})`);
  });
  let at = 0;
  return ({ name, rowBytes }, rows) => {
    if (rowBytes === null) return repeated(withLength(bytes), rows);
    if (at + rowBytes > bytes.length) at = 0;
    if (rowBytes > bytes.length) {
      const message = `expected ${rowBytes} bytes for a row of input "${name}"`;
      throw new InputError("INPUT_INVALID_VALUE", `${file}: ${message}, got ${bytes.length}`);
    }
    const row = bytes.subarray(at, at + rowBytes);
    at += rowBytes;
    return repeated(row, rows);
  };
}

/** Prefixes the length, as the protocol encodes elements of variable length. */
function withLength(bytes: Uint8Array): Uint8Array {
  const head = Buffer.alloc(4);
  head.writeUInt32LE(bytes.length);
  return Buffer.concat([head, bytes]);
}
