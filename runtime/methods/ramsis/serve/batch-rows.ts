/** The rows of a batch as the executor takes them. */
import type { PendingRequest } from "../../../server/requests/request.ts";

/** What a query of the dispatcher stands for. */
export interface Row {
  readonly request: PendingRequest;
  readonly row: number;
  /** Workers that were lost under it. */
  losses: number;
  /** How the last of them was lost; empty before. */
  lossMessage: string;
}

/**
 * Per input of the variant the bytes of the rows; rows of one request that follow each other are
 * one part. @param inputOrder of each input of the variant, its index among those of the request.
 */
export function inputParts(rows: readonly Row[], inputOrder: readonly number[]): Uint8Array[][] {
  const parts: Uint8Array[][] = inputOrder.map(() => []);
  for (let first = 0; first < rows.length; ) {
    const { request, row } = rows[first] as Row;
    let count = 1;
    while (rows[first + count]?.request === request && rows[first + count]?.row === row + count) {
      count++;
    }
    for (const [position, input] of inputOrder.entries()) {
      const bounds = request.inputBounds[input] ?? [];
      const bytes = request.inputs[input]?.subarray(bounds[row], bounds[row + count]);
      if (bytes !== undefined) parts[position]?.push(bytes);
    }
    first += count;
  }
  return parts;
}
