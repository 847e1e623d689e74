/** What a decision log says of a request. */
import type { Bundle } from "../../bundle/schema.ts";
import type { MadeDecision, ReviewedDecision } from "../../tell/made-decision.ts";
import type { BatchRun } from "../requests/batch-run.ts";
import type { RequestRecord } from "../telemetry/request-record.ts";
import { timeText } from "../telemetry/time-text.ts";
import { type DecisionLine, type LoggedDecision, madeDecision, type Outcome } from "./log-lines.ts";
import type { MaskedFields } from "./masked-fields.ts";

/** What a method says of a decision; undefined where it cannot. */
export type ReviewDecision = (bundle: Bundle, made: MadeDecision) => ReviewedDecision | undefined;

export interface LineOptions {
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

/** @param bundle that decided; undefined where it is not at hand. */
export function decisionLine(
  record: RequestRecord,
  bundle: Bundle | undefined,
  { mask, epochOffsetMs, review }: LineOptions,
): DecisionLine {
  const { application, model, bundleSha256: revision, protocol, rows, isNamed } = record;
  const asked: Pick<DecisionLine, "class" | "isNamed"> = {
    ...(record.kind === "" ? {} : { class: record.kind }),
    ...(isNamed ? { isNamed } : {}),
  };
  return {
    kind: "decision",
    ...mask.field("id", record.id),
    time: timeText(epochOffsetMs + record.arrivalMs),
    ...{ application, model, revision, protocol },
    ...mask.field("client", record.client),
    ...mask.field("userAgent", record.userAgent),
    ...mask.field("traceId", record.traceId),
    rows,
    ...asked,
    decisions: record.runs.slice(-MAX_RUNS).map((run) => {
      const told = loggedDecision(run, bundle);
      const reviewed = bundle === undefined ? undefined : review(bundle, madeDecision(asked, told));
      return reviewed === undefined ? told : { ...told, runnerUp: reviewed.runnerUp };
    }),
    outcome: outcomeOf(record, mask),
  };
}

function loggedDecision(run: BatchRun, bundle: Bundle | undefined): LoggedDecision {
  const { task, level, queued, slackMs, variantName: variant, rows: batch, worker } = run;
  const { places, startMs: atMs, endMs, isLost } = run;
  const loadQps = bundle?.levels[level]?.loadQps;
  return {
    ...(task === undefined ? {} : { task }),
    ...(level < 0 ? {} : { level }),
    ...(loadQps === undefined ? {} : { loadQps }),
    state: { ...(queued === 0 ? {} : { queued }), slackMs },
    ...{ variant, batch },
    ...(worker < 0 ? {} : { worker }),
    ...(places === undefined ? {} : { places }),
    atMs,
    tookMs: Number.isNaN(endMs) ? null : endMs - atMs,
    ...(isLost === undefined ? {} : { isLost }),
  };
}

function outcomeOf(record: RequestRecord, mask: MaskedFields): Outcome {
  const { status, reason, error, variant, accuracy, sloMs } = record;
  const latencyMs = record.endMs - record.arrivalMs + record.lagMs;
  const kind = outcomeKind(record, latencyMs);
  const isAnswered = kind === "answered" || kind === "late";
  return {
    kind,
    status,
    latencyMs,
    sloMs: Number.isNaN(sloMs) ? null : sloMs,
    ...(isAnswered ? { variant, accuracy } : {}),
    ...(reason === "" ? {} : { reason }),
    ...mask.field("error", error),
  };
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
