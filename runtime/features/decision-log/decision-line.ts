/** Encodes a request as a line of the decision log. */
import type { Bundle } from "../../bundle/schema.ts";
import { decidingLevel } from "../../describe/deciding-level.ts";
import type { MadeDecision, ReviewedDecision } from "../../describe/made-decision.ts";
import { timeText } from "../../server/logs/time-text.ts";
import type { BatchRun } from "../../server/requests/request.ts";
import type { RequestRecord } from "../../server/requests/request-record.ts";
import type { DecisionLine, LoggedDecision, Outcome } from "./log-lines.ts";
import type { MaskedFields } from "./masked-fields.ts";

/** Returns a method's review of a decision; undefined if the method offers none. */
export type ReviewDecision = (bundle: Bundle, made: MadeDecision) => ReviewedDecision | undefined;

interface LineOptions {
  readonly mask: MaskedFields;
  /** Added to the server's clock for milliseconds since 1970. */
  readonly epochOffsetMs: number;
  readonly review: ReviewDecision;
}

/** Batches of one request in a line; a request that fans out may have more. */
const MAX_RUNS = 64;
/** Failures that the policy decided itself. */
const DROPPED: ReadonlySet<string> = new Set([
  ...["queue-full", "shed", "late", "timeout", "no-worker"],
]);

/**
 * Returns the text of a `DecisionLine`. Sets fields one by one: spreads are many times slower in
 * V8.
 * @param bundle that decided; undefined if it is no longer loaded.
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
  const logged: LoggedDecision[] = [];
  for (let index = Math.max(0, runs.length - MAX_RUNS); index < runs.length; index++) {
    const run = runs[index];
    if (run !== undefined) logged.push(loggedDecision(run, bundle, review, kind, isNamed));
  }
  return logged;
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
  const logged: Writable<LoggedDecision> = { state, variant, batch, atMs, tookMs };
  if (run.task !== undefined) logged.task = run.task;
  if (level >= 0) {
    logged.level = level;
    const decides = bundle === undefined ? undefined : decidingLevel(bundle, level);
    if (decides !== undefined) logged.loadQps = decides.loadQps;
    if (decides !== undefined && decides.pace !== 1) logged.levelPace = decides.pace;
  }
  if (run.pace !== undefined) logged.pace = run.pace;
  if (run.correction !== undefined) logged.correction = run.correction;
  if (run.worker >= 0) logged.worker = run.worker;
  if (run.places !== undefined) logged.places = run.places;
  if (run.isLost === true) logged.isLost = true;
  if (bundle === undefined) return logged;
  const task = run.task ?? null;
  const { pace = 1, correction = 1 } = run;
  const decided = { level, queued, slackMs, pace, correction };
  const made = { task, variant, batch, ...decided, kind, isNamed };
  const reviewed = review(bundle, made);
  if (reviewed !== undefined) logged.runnerUp = reviewed.runnerUp;
  return logged;
}

function outcomeOf(record: RequestRecord, mask: MaskedFields): Outcome {
  const { status, reason, sloMs } = record;
  const latencyMs = record.endMs - record.arrivalMs + record.lagMs;
  const kind = outcomeKind(record, latencyMs);
  const logged: Writable<Outcome> = {
    kind,
    status,
    latencyMs,
    sloMs: Number.isNaN(sloMs) ? null : sloMs,
  };
  if (kind === "answered" || kind === "late") {
    logged.variant = record.variant;
    logged.accuracy = record.accuracy;
  }
  if (reason !== "") logged.reason = reason;
  mask.set(logged, "error", record.error);
  return logged;
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
