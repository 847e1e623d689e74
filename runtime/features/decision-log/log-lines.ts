/**
 * The lines of a decision log, as they are written and read: JSON, each with its kind. Described in
 * docs/operate.md.
 */

import type { MadeDecision, OtherChoice } from "../../describe/made-decision.ts";
import type { RecordedEntry } from "../../server/requests/recorded-entry.ts";

export const DECISIONS_FORMAT = "stratagem-decisions/1";

/** An application is followed from here on; what the lines before said of its core is over. */
export interface OpenedLine {
  readonly kind: "opened";
  readonly format: typeof DECISIONS_FORMAT;
  /** As RFC 3339 has it. */
  readonly time: string;
  readonly application: string;
  /** Names its core among those that one process has had, one of an application after another. */
  readonly core: number;
  /** SHA-256 of the bundle's file. */
  readonly revision: string;
  readonly method: string;
  /** Of the requests, 0..1, how many have a line. */
  readonly sample: number;
  /** Whether all that its core was told follows, so that it can be replayed. */
  readonly hasEvents: boolean;
  /** Rows that wait or run at most. */
  readonly maxPending: number;
  /** Fields that lines do not have, or have by their digest. */
  readonly mask: readonly string[];
}

/** A batch with rows of a request, and the state in which it was decided. */
export interface LoggedDecision {
  /** Left out where there is one task. */
  readonly task?: string;
  /** Left out where none decides. */
  readonly level?: number;
  readonly loadQps?: number;
  /** That the level was solved for; left out for 1. */
  readonly levelPace?: number;
  /** Pace of its worker; omitted if 1 or not measured. */
  readonly pace?: number;
  /** Largest of the corrections of variants and batch sizes then; left out for 1. */
  readonly correction?: number;
  readonly state: {
    /** Left out where nobody says. */
    readonly queued?: number;
    readonly slackMs: number;
  };
  readonly variant: string;
  readonly batch: number;
  readonly worker?: number;
  /** Workers that ran it together. */
  readonly places?: readonly number[];
  /** Of the clock of the server, by which the events of its core are found. */
  readonly atMs: number;
  /** Null until it is over. */
  readonly tookMs: number | null;
  readonly isLost?: true;
  /** The best of what else could have run; left out where nobody can say. */
  readonly runnerUp?: OtherChoice | null;
}

export interface Outcome {
  readonly kind: "answered" | "late" | "dropped" | "failed" | "refused";
  /** HTTP's, of gRPC its code; null where the client was gone. */
  readonly status: number | null;
  readonly latencyMs: number;
  readonly sloMs: number | null;
  /** Of an answer. */
  readonly variant?: string;
  readonly accuracy?: number;
  /** Why there is no answer, in a word. */
  readonly reason?: string;
  readonly error?: string;
}

/** What became of a request, by which decisions. */
export interface DecisionLine {
  readonly kind: "decision";
  /** As its client was told. */
  readonly id?: string;
  readonly time: string;
  readonly application: string;
  readonly model: string;
  /** SHA-256 of the bundle's file. */
  readonly revision: string;
  readonly protocol: "http" | "grpc";
  readonly client?: string;
  readonly userAgent?: string;
  readonly traceId?: string;
  readonly class?: string;
  readonly rows: number;
  /** Whether it named its variant, or asked for one for all rows. */
  readonly isNamed?: true;
  readonly decisions: readonly LoggedDecision[];
  readonly outcome: Outcome;
}

/** When requests came, whether they have lines or not; those of one line ascend. */
export interface ArrivalsLine {
  readonly kind: "arrivals";
  readonly application: string;
  readonly model: string;
  /** Of the first, microseconds since 1970. */
  readonly startUs: number;
  /** From each to the next, one less than there are. */
  readonly gapsUs: readonly number[];
  /** Of each; left out where each has one. */
  readonly rows?: readonly number[];
}

/** What a core was told and said, in order. */
export interface EventsLine {
  readonly kind: "events";
  readonly application: string;
  readonly core: number;
  readonly entries: readonly LoggedEntry[];
}

/** As `RecordedEntry`; of a bundle its file and how many levels it has by now. */
export interface LoggedEntry extends Omit<RecordedEntry, "bundle"> {
  readonly revision?: string;
  readonly levelCount?: number;
}

/** So many lines before this one found no room, or their place would not have them. */
export interface LostLine {
  readonly kind: "lost";
  readonly lines: number;
}

export type LogLine = OpenedLine | DecisionLine | ArrivalsLine | EventsLine | LostLine;

/** A logged decision as a method reviews it. */
export function madeDecision(
  { class: kind = "", isNamed }: Pick<DecisionLine, "class" | "isNamed">,
  { task, level = -1, state, variant, batch, pace = 1, correction = 1 }: LoggedDecision,
): MadeDecision {
  const { queued = 0, slackMs } = state;
  const asked = { kind, isNamed: isNamed === true };
  const told = { level, variant, batch, queued, slackMs, pace, correction };
  return { task: task ?? null, ...told, ...asked };
}

/** JSON has no such numbers; forecasts and deadlines may be. */
const NO_JSON = new Map<string, number>([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

/** A line, or an entry of one, without its end. */
export function lineText(line: object): string {
  for (const value of Object.values(line)) {
    if (typeof value === "number" && !Number.isFinite(value)) return rareText(line);
  }
  return JSON.stringify(line);
}

/** Takes many times as long as without the function. */
function rareText(line: object): string {
  return JSON.stringify(line, (_, value: unknown) =>
    typeof value === "number" && !Number.isFinite(value) ? String(value) : value,
  );
}

/** A number as `lineText` writes it; undefined for what is none. */
export function loggedNumber(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" ? NO_JSON.get(value) : undefined;
}
