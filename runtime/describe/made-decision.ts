/** A decision that a server made, as logs tell it, and what its bundle says of it. */

/** A batch that was started in a state. */
export interface MadeDecision {
  /** Null where there is one task. */
  readonly task: string | null;
  readonly variant: string;
  readonly batch: number;
  /** Index of the level that decided; −1 where none does. */
  readonly level: number;
  /** Queries that waited where it was decided, its own included; 0 where nobody says. */
  readonly queued: number;
  /** To the earliest deadline; negative when that was over. */
  readonly slackMs: number;
  /** Pace of the worker that ran it. */
  readonly pace: number;
  /** Largest of the corrections of variants and batch sizes then. */
  readonly correction: number;
  /** Class or bucket of its queries; empty where there are none. */
  readonly kind: string;
  /** Whether the request named the variant, or asked for the same one for all its rows. */
  readonly isNamed: boolean;
}

/** One way to serve a state. */
export interface OtherChoice {
  readonly variant: string;
  readonly batch: number;
  readonly serviceMs: number;
  readonly accuracy: number;
  /** Whether the batch ends before the earliest deadline. */
  readonly meetsSlack: boolean;
}

export interface ReviewedDecision {
  /** Whether the bundle decides so in that state; null where its state does not settle it. */
  readonly agrees: boolean | null;
  /** What the bundle says of the state, or why its state does not settle it. */
  readonly says: string;
  /** The best of what else could have run; null where there is nothing else. */
  readonly runnerUp: OtherChoice | null;
}
