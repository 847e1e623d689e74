/** Report of canaries to administrators, and the actions they can take. */
import type { ArmCounts } from "../../server/applications/trial.ts";

/** Actions of administrators on a canary. */
export const CANARY_ACTIONS = ["promote", "roll-back", "start"] as const;
export type CanaryAction = (typeof CANARY_ACTIONS)[number];

export interface CanaryDone {
  readonly isDone: boolean;
  /** Message on the outcome. */
  readonly notice: string;
}

/** A canary, active or ended. */
export interface CanaryReport {
  /** Empty until the file was read. */
  readonly application: string;
  readonly policy: string;
  readonly sha256: string;
  readonly state: "starting" | "tried" | "promoted" | "rolled back";
  /** Reason of the promotion or rollback; empty before. */
  readonly because: string;
  /** Current share of the requests, and all shares in their order. */
  readonly share: number;
  readonly shares: readonly number[];
  /** Counts at the current share, or at the last one. */
  readonly requests?: { readonly stable: ArmCounts; readonly canary: ArmCounts };
  /** Range 0 to 1; 1 decides. Only while on trial. */
  readonly evidence?: { readonly for: number; readonly against: number };
  /** Minimum time until promotion; only while on trial. */
  readonly leftMs?: number;
}
