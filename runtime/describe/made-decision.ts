/** A decision from a server's log, and its review against the bundle. */

/** A batch that was started in a state. */
export interface MadeDecision {
  /** Null for a single task. */
  readonly task: string | null;
  readonly variant: string;
  readonly batch: number;
  /** Index of the level that decided; −1 without one. */
  readonly level: number;
  /** Queries that waited at the decision, its own included; 0 if not known. */
  readonly queued: number;
  /** Time to the earliest deadline; negative if it had passed. */
  readonly slackMs: number;
  /** Pace of the worker that ran it. */
  readonly pace: number;
  /** Largest of the corrections of variants and batch sizes at that time. */
  readonly correction: number;
  /** Class or bucket of its queries; empty without classes and buckets. */
  readonly kind: string;
  /** Whether the request named the variant, or asked for the same one for all its rows. */
  readonly isNamed: boolean;
}

/** Another way to serve a state. */
export interface OtherChoice {
  readonly variant: string;
  readonly batch: number;
  readonly serviceMs: number;
  readonly accuracy: number;
  /** Whether the batch ends before the earliest deadline. */
  readonly meetsSlack: boolean;
}

export interface ReviewedDecision {
  /** Whether the bundle decides the same in that state; null if the state does not determine it. */
  readonly agrees: boolean | null;
  /** Decision of the bundle in the state, or why the state does not determine it. */
  readonly says: string;
  /** Best alternative; null if there is no other. */
  readonly runnerUp: OtherChoice | null;
}
