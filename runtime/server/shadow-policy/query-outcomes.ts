/** What becomes of queries, as one of two policies has it: what both are counted by. */

/** Queries go by the number that they came with, the same on both sides. */
export interface OutcomeObserver {
  /** A batch starts. @param variant among those of all tasks. @param level by index. */
  onBatch(variant: number, level: number, rows: number): void;
  onAnswered(query: number, variant: number, isLate: boolean): void;
  onDropped(query: number): void;
  /** Its client has gone, or the rest of its request was given up. */
  onCancelled(query: number): void;
  /** At the door, before the policy was asked. */
  onRefused(queries: number): void;
}
