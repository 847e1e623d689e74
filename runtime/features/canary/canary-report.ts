/** What administrators are told of bundles that are tried, and may do with them. */
import type { ArmCounts } from "../../server/applications/trial.ts";

/** What can be done by hand with a bundle that is tried. */
export const CANARY_ACTIONS = ["promote", "roll-back", "start"] as const;
export type CanaryAction = (typeof CANARY_ACTIONS)[number];

export interface CanaryDone {
  readonly isDone: boolean;
  /** In words. */
  readonly notice: string;
}

/** A bundle that is or was tried. */
export interface CanaryReport {
  /** Empty until its file was read. */
  readonly application: string;
  readonly policy: string;
  readonly sha256: string;
  readonly state: "starting" | "tried" | "promoted" | "rolled back";
  /** Why it was promoted or rolled back; empty before. */
  readonly because: string;
  /** Of the requests that it gets now, and gets in turn. */
  readonly share: number;
  readonly shares: readonly number[];
  /** At the present share, or the last one. */
  readonly requests?: { readonly stable: ArmCounts; readonly canary: ArmCounts };
  /** 0 to 1, which is enough; while it is tried. */
  readonly evidence?: { readonly for: number; readonly against: number };
  /** Until it may be promoted, at least; while it is tried. */
  readonly leftMs?: number;
}
