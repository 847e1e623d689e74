/** Reads and fills tables of bundles by their axes, where speed does not matter. */
import ndarray, { type NdArray } from "ndarray";
import type { Table } from "stratagem-runtime/internal/bundle/schema";

/** Returns a view, not a copy: `get` and `set` take an index for each axis of the shape. */
export function viewOf<T extends Table>({ data, shape }: T): NdArray<T["data"]> {
  return ndarray(data as T["data"], [...shape]);
}

/** Items of a view with one axis, in order. */
export function itemsOf(view: NdArray<Float64Array | Uint16Array>): number[] {
  return Array.from({ length: view.size }, (_, index) => view.get(index));
}
