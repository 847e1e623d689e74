/** Rows to send: those of the plan, from samples of modules, or random as in `profile`. */
import { bucketCount } from "stratagem-runtime/internal/bundle/schema";
import { randomInputs, sizedInputs } from "../../onnx/batch-inputs.ts";
import type { ProfilePlan } from "../profile-plan.ts";
import type { ShapeOf } from "./served-model.ts";
import type { RowsOf } from "./served-request.ts";

/** Returns the next rows of the plan for each request; else the plan's samples or numbers. */
export function planRows(plan: ProfilePlan, seed: number): RowsOf {
  let run = -1;
  return (input, rows) => {
    for (const { model, samples, host, rows: real } of plan.variants) {
      const index = model.inputs.findIndex(({ name }) => name === input.name);
      if (index < 0) continue;
      if (real !== undefined) {
        if (index === 0) run++;
        return real.inputs(Math.max(0, run), rows)[index] ?? null;
      }
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
