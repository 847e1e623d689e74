/** What a decision log says of a request. */

import type { Bundle } from "../../bundle/schema.ts";
import { decidingLevel } from "../../describe/deciding-level.ts";
import type { MadeDecision, ReviewedDecision } from "../../describe/made-decision.ts";
import { timeText } from "../../server/logs/time-text.ts";
import type { BatchRun } from "../../server/requests/batch-run.ts";
import type { RequestRecord } from "../../server/requests/request-record.ts";
import type { DecisionLine, LoggedDecision, Outcome } from "./log-lines.ts";
import type { MaskedFields } from "./masked-fields.ts";

/** What a method says of a decision; undefined where it cannot. */
export type ReviewDecision = (bundle: Bundle, made: MadeDecision) => ReviewedDecision | undefined;

interface LineOptions {
  readonly mask: MaskedFields;
  /** Is added to the clock of the server for milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly review: ReviewDecision;
}

/** Batches of a request that are told; one that fans out may have more. */
const MAX_RUNS = 64;
/** Failures that are the policy's own decision. */
const DROPPED: ReadonlySet<string> = new Set([
  ...["queue-full", "shed", "late", "timeout", "no-worker"],
]);

/**
 * A `DecisionLine`. Its fields are set one by one: behind spreads they take V8 many times as long.
 * @param bundle that decided; undefined where it is not at hand.
 */
export function decisionText(
  record: RequestRecord,
  bundle: Bundle | undefined,
  options: LineOptions,
): string {
  const { mask, epochOffsetMs } = options;
  const line: Partial<Writable<DecisionLine>> = { kind: "decision" };
  mask.set(line, "id", record.id);
  line.time = timeText(epochOffsetMs + record.arrivalMs);
  line.application = record.application;
  line.model = record.model;
  line.revision = record.bundleSha256;
  line.protocol = record.protocol;
  mask.set(line, "client", record.client);
  mask.set(line, "userAgent", record.userAgent);
  mask.set(line, "traceId", record.traceId);
  line.rows = record.rows;
  if (record.kind !== "") line.class = record.kind;
  if (record.isNamed) line.isNamed = true;
  line.decisions = loggedDecisions(record, bundle, options.review);
  line.outcome = outcomeOf(record, mask);
  return JSON.stringify(line);
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

function loggedDecisions(
  { runs, kind, isNamed }: RequestRecord,
  bundle: Bundle | undefined,
  review: ReviewDecision,
): LoggedDecision[] {
  const told: LoggedDecision[] = [];
  for (let index = Math.max(0, runs.length - MAX_RUNS); index < runs.length; index++) {
    const run = runs[index];
    if (run !== undefined) told.push(loggedDecision(run, bundle, review, kind, isNamed));
  }
  return told;
}

function loggedDecision(
  run: BatchRun,
  bundle: Bundle | undefined,
  review: ReviewDecision,
  kind: string,
  isNamed: boolean,
): LoggedDecision {
  const { level, queued, slackMs, variantName: variant, rows: batch, startMs: atMs } = run;
  const state: Writable<LoggedDecision["state"]> = { slackMs };
  if (queued > 0) state.queued = queued;
  const tookMs = Number.isNaN(run.endMs) ? null : run.endMs - atMs;
  const told: Writable<LoggedDecision> = { state, variant, batch, atMs, tookMs };
  if (run.task !== undefined) told.task = run.task;
  if (level >= 0) {
    told.level = level;
    const decides = bundle === undefined ? undefined : decidingLevel(bundle, level);
    if (decides !== undefined) told.loadQps = decides.loadQps;
    if (decides !== undefined && decides.pace !== 1) told.levelPace = decides.pace;
  }
  if (run.pace !== undefined) told.pace = run.pace;
  if (run.correction !== undefined) told.correction = run.correction;
  if (run.worker >= 0) told.worker = run.worker;
  if (run.places !== undefined) told.places = run.places;
  if (run.isLost === true) told.isLost = true;
  if (bundle === undefined) return told;
  const task = run.task ?? null;
  const { pace = 1, correction = 1 } = run;
  const decided = { level, queued, slackMs, pace, correction };
  const made = { task, variant, batch, ...decided, kind, isNamed };
  const reviewed = review(bundle, made);
  if (reviewed !== undefined) told.runnerUp = reviewed.runnerUp;
  return told;
}

function outcomeOf(record: RequestRecord, mask: MaskedFields): Outcome {
  const { status, reason, sloMs } = record;
  const latencyMs = record.endMs - record.arrivalMs + record.lagMs;
  const kind = outcomeKind(record, latencyMs);
  const told: Writable<Outcome> = {
    kind,
    status,
    latencyMs,
    sloMs: Number.isNaN(sloMs) ? null : sloMs,
  };
  if (kind === "answered" || kind === "late") {
    told.variant = record.variant;
    told.accuracy = record.accuracy;
  }
  if (reason !== "") told.reason = reason;
  mask.set(told, "error", record.error);
  return told;
}

function outcomeKind(
  { reason, variant, error, sloMs }: RequestRecord,
  latencyMs: number,
): Outcome["kind"] {
  if (reason !== "") return DROPPED.has(reason) ? "dropped" : "failed";
  if (variant === "") return "refused";
  if (error !== "") return "failed";
  return latencyMs > sloMs ? "late" : "answered";
}
