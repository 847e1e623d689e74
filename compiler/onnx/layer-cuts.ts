/** Places where a graph can be cut, and the values that cross them. */
import type { GraphFlow } from "./graph-flow.ts";

/** Producer and last reader of a value. */
export interface ValueUse {
  /** Step that produces it. */
  readonly from: number;
  /** Last step that reads it; −1 if none does. */
  readonly lastRead: number;
}

/**
 * Returns, by name in production order, which steps use each value; values that no other step or
 * output needs are left out.
 */
export function valueUses({ steps, outputNames }: GraphFlow): ReadonlyMap<string, ValueUse> {
  const lastRead = new Map<string, number>();
  for (const [index, { reads }] of steps.entries()) {
    for (const name of reads) lastRead.set(name, index);
  }
  const uses = new Map<string, ValueUse>();
  for (const [from, { writes }] of steps.entries()) {
    for (const name of writes) {
      const last = lastRead.get(name) ?? -1;
      if (last >= 0 || outputNames.includes(name)) uses.set(name, { from, lastRead: last });
    }
  }
  return uses;
}

/**
 * Returns the first step of every layer, and the number of steps at the end. A graph can be cut
 * between two neighbours because all values that are produced before and read after can be sent.
 * @param canBeSent by value name.
 */
export function layerStarts(
  stepCount: number,
  uses: ReadonlyMap<string, ValueUse>,
  canBeSent: (name: string) => boolean,
): number[] {
  // Values that cannot be sent forbid the cuts they cross: +1 at the first of them, −1 after the
  // last.
  const change = new Int32Array(stepCount + 2);
  for (const [name, { from, lastRead }] of uses) {
    if (canBeSent(name) || lastRead <= from) continue;
    change[from + 1] = (change[from + 1] ?? 0) + 1;
    change[lastRead + 1] = (change[lastRead + 1] ?? 0) - 1;
  }
  const starts = [0];
  let unsent = 0;
  for (let at = 1; at < stepCount; at++) {
    unsent += change[at] ?? 0;
    if (unsent === 0) starts.push(at);
  }
  return [...starts, stepCount];
}
