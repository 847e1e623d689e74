/**
 * Recorded events and commands of the cores, for all methods, and the interface that replays them.
 */
import type { Bundle } from "../../bundle/schema.ts";
import type { LoadShare } from "../../core/load-share.ts";

/**
 * An event that a core received, or a command that it returned. All fields are plain values, so
 * that logs can hold them. Each method's recording defines its kinds and their fields.
 */
export interface RecordedEntry {
  readonly kind: string;
  /** Time on the server's clock; commands, and events without a time of their own, have none. */
  readonly nowMs?: number;
  /** The driver's name for a query, which is free for another once this one is over. */
  readonly query?: number;
  /** Ids of the queries of a batch; number of queries of a rejection. */
  readonly queries?: number | readonly number[];
  /** Deadline for the core, with the time of the request path already subtracted. */
  readonly deadlineMs?: number;
  readonly worker?: number;
  /** Run time of a completed batch's model in its worker. */
  readonly ranMs?: number;
  /** Index, in a graph of tasks among the variants of all of them. */
  readonly variant?: number;
  readonly level?: number;
  readonly queued?: number;
  readonly reason?: number;
  readonly wanted?: number;
  /** Index of its class, or bucket. Default: the first. */
  readonly sloClass?: number;
  readonly task?: number;
  readonly parent?: number;
  readonly childTask?: number;
  readonly count?: number;
  readonly qps?: number;
  readonly cores?: number;
  readonly model?: number;
  readonly batch?: number;
  readonly isHigh?: boolean;
  readonly place?: number;
  readonly places?: readonly number[];
  readonly shape?: number;
  readonly resumeAt?: number;
  /** Load at other front ends, queries per second; null while it is unknown. */
  readonly othersQps?: number | null;
  /** Variance of it, (queries per second)². */
  readonly othersVariance?: number;
  /** Workers of this front end, and of all front ends. */
  readonly workers?: number;
  readonly allWorkers?: number;
  /** That decides from here on. */
  readonly bundle?: Bundle;
}

/** A core that is driven by recorded events alone. */
export interface Replayer {
  /**
   * @param event of the method's own recording, in order of time.
   * @returns the commands that the core answered with when it was recorded.
   * @throws RangeError for an event that is not the method's, Error where its core cannot process
   * it.
   */
  tell(event: RecordedEntry): readonly RecordedEntry[];
}

export interface ReplayerOptions {
  /** Maximum number of rows that waited or ran in the recording: `limits.maxPending`. */
  readonly maxPending: number;
}

const COMMANDS: ReadonlySet<string> = new Set([
  ...["start-batch", "drop", "assign", "resize", "release"],
  ...["start", "reshape"],
]);

/** Whether the entry is a command of a core, not an event. */
export function isCommand({ kind }: RecordedEntry): boolean {
  return COMMANDS.has(kind);
}

type NumberField = {
  [K in keyof RecordedEntry]-?: RecordedEntry[K] extends number | undefined ? K : never;
}[keyof RecordedEntry];

/** A field that its kind of event has. @throws RangeError where it has not. */
export function given(event: RecordedEntry, field: NumberField): number {
  const value = event[field];
  if (typeof value === "number") return value;
  throw new RangeError(`event "${event.kind}": expected a number ${field}, got ${value}`);
}

/** Load of the other front ends in an event. @throws RangeError where a number is missing. */
export function shareIn(event: RecordedEntry): LoadShare {
  return {
    othersQps: event.othersQps ?? null,
    othersVariance: given(event, "othersVariance"),
    workers: given(event, "workers"),
    allWorkers: given(event, "allWorkers"),
  };
}

/** @throws RangeError for an entry that is not an event of the method. */
export function noEvent({ kind }: RecordedEntry, known: readonly string[]): never {
  throw new RangeError(`expected an event of ${known.join(", ")}, got "${kind}"`);
}
