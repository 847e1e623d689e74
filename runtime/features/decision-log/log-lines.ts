/**
 * Lines of a decision log, as they are written and read: JSON with a kind. Described in
 * docs/operate.md.
 */

import type { MadeDecision, OtherChoice } from "../../describe/made-decision.ts";
import type { RecordedEntry } from "../../server/requests/recorded-entry.ts";

export const DECISIONS_FORMAT = "stratagem-decisions/1";

/** Start of an application; earlier lines about the same core are void. */
export interface OpenedLine {
  readonly kind: "opened";
  readonly format: typeof DECISIONS_FORMAT;
  /** In the format of RFC 3339. */
  readonly time: string;
  readonly application: string;
  /** Number of the core within its process, which numbers cores in the order of their start. */
  readonly core: number;
  /** SHA-256 of the bundle's file. */
  readonly revision: string;
  readonly method: string;
  /** Share of the requests that have a line, 0..1. */
  readonly sample: number;
  /** Whether all events of the core follow, so that it can be replayed. */
  readonly hasEvents: boolean;
  /** Limit of rows that wait or run. */
  readonly maxPending: number;
  /** Fields that are omitted or replaced by their digests. */
  readonly mask: readonly string[];
}

/** A batch with rows of the request, and the state in which it was decided. */
export interface LoggedDecision {
  /** Omitted if there is one task. */
  readonly task?: string;
  /** Omitted if no level decides. */
  readonly level?: number;
  readonly loadQps?: number;
  /** Pace that the level was solved for; omitted if 1. */
  readonly levelPace?: number;
  /** Pace of its worker; omitted if 1 or not measured. */
  readonly pace?: number;
  /** Largest correction among variants and batch sizes at that time; omitted if 1. */
  readonly correction?: number;
  readonly state: {
    /** Omitted if not reported. */
    readonly queued?: number;
    readonly slackMs: number;
  };
  readonly variant: string;
  readonly batch: number;
  readonly worker?: number;
  /** Workers that ran the batch together. */
  readonly places?: readonly number[];
  /** Server clock, the same as in the events of the core. */
  readonly atMs: number;
  /** Null until it has ended. */
  readonly tookMs: number | null;
  readonly isLost?: true;
  /** Best alternative choice; omitted if the method cannot name one. */
  readonly runnerUp?: OtherChoice | null;
}

export interface Outcome {
  readonly kind: "answered" | "late" | "dropped" | "failed" | "refused";
  /** HTTP status or gRPC code; null if the client disconnected. */
  readonly status: number | null;
  readonly latencyMs: number;
  readonly sloMs: number | null;
  /** Set if the request was answered. */
  readonly variant?: string;
  readonly accuracy?: number;
  /** Short code of the reason why there is no answer. */
  readonly reason?: string;
  readonly error?: string;
}

/** Outcome of a request, with the decisions that led to it. */
export interface DecisionLine {
  readonly kind: "decision";
  /** Request id, as returned to the client. */
  readonly id?: string;
  readonly time: string;
  readonly application: string;
  readonly model: string;
  readonly revision: string;
  readonly protocol: "http" | "grpc";
  readonly client?: string;
  readonly userAgent?: string;
  readonly traceId?: string;
  readonly class?: string;
  readonly rows: number;
  /** Whether the request named its variant, or asked for the same one for all rows. */
  readonly isNamed?: true;
  readonly decisions: readonly LoggedDecision[];
  readonly outcome: Outcome;
}

/** Arrival times of requests, logged or not, ascending within a line. */
export interface ArrivalsLine {
  readonly kind: "arrivals";
  readonly application: string;
  readonly model: string;
  /** Time of the first, microseconds since 1970. */
  readonly startUs: number;
  /** Time from each arrival to the next; one entry fewer than arrivals. */
  readonly gapsUs: readonly number[];
  /** Rows per request; omitted if each has one. */
  readonly rows?: readonly number[];
}

/** Events and outputs of a core, in order. */
export interface EventsLine {
  readonly kind: "events";
  readonly application: string;
  readonly core: number;
  readonly entries: readonly LoggedEntry[];
}

/** A `RecordedEntry` with the revision and number of levels of a bundle in place of the bundle. */
export interface LoggedEntry extends Omit<RecordedEntry, "bundle"> {
  readonly revision?: string;
  readonly levelCount?: number;
}

/** Number of lines before this one that were dropped or refused. */
export interface LostLine {
  readonly kind: "lost";
  readonly lines: number;
}

export type LogLine = OpenedLine | DecisionLine | ArrivalsLine | EventsLine | LostLine;

/** Converts a logged decision for review by its method. */
export function madeDecision(
  { class: kind = "", isNamed }: Pick<DecisionLine, "class" | "isNamed">,
  { task, level = -1, state, variant, batch, pace = 1, correction = 1 }: LoggedDecision,
): MadeDecision {
  const { queued = 0, slackMs } = state;
  const asked = { kind, isNamed: isNamed === true };
  const decided = { level, variant, batch, queued, slackMs, pace, correction };
  return { task: task ?? null, ...decided, ...asked };
}

/** Values that JSON lacks, which forecasts and deadlines may have. */
const NO_JSON = new Map<string, number>([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

/** Encodes a line, or an entry of one, without a line end. */
export function lineText(line: object): string {
  for (const value of Object.values(line)) {
    if (typeof value === "number" && !Number.isFinite(value)) return rareText(line);
  }
  return JSON.stringify(line);
}

/** Separate, because a replacer makes `stringify` many times slower. */
function rareText(line: object): string {
  return JSON.stringify(line, (_, value: unknown) =>
    typeof value === "number" && !Number.isFinite(value) ? String(value) : value,
  );
}

/** Reads a number that `lineText` wrote; undefined for other values. */
export function loggedNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" ? NO_JSON.get(value) : undefined;
}
