/** Looks up times of batches in the table of a task. */
import type { RamsisBundle, Table } from "../../../bundle/schema.ts";

/** @param table float64 [variantCount, maxBatch], ms. @returns NaN outside of it. */
export function serviceMsOf({ data, shape }: Table, variant: number, batch: number): number {
  return data[variant * (shape[1] ?? 0) + batch - 1] ?? Number.NaN;
}

/** Returns the only task of a bundle of tables. */
export function onlyTask({ tasks }: RamsisBundle): RamsisBundle["tasks"][number] {
  const [task] = tasks;
  if (task === undefined) throw new RangeError("a validated bundle has a task");
  return task;
}
