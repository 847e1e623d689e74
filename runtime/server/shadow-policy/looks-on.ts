/** Whoever has a core look on, whatever that decides about. */
import type { RecordedEntry } from "../decisions/recorded-entry.ts";

export interface LooksOn {
  /** All that its bundle has is there. Called once, first. */
  open(nowMs: number): void;
  /**
   * @param entry that was recorded of the core that serves, in the order of their times.
   * @param serial by which a query that comes with it is counted.
   */
  take(entry: RecordedEntry, serial: number): void;
  /** Lets all happen that is due before a time, which does not go back. */
  passTo(nowMs: number): void;
}
