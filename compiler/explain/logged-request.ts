/** Parses a line of an access log; missing fields are null. */

/** Batch that held rows of a request. Times are ms after the request's arrival. */
export interface LoggedRun {
  /** Null if the application has one task. */
  readonly task: string | null;
  readonly variant: string;
  /** Queries of all requests in it. */
  readonly batch: number;
  /** Index of the level that decided. */
  readonly level: number | null;
  /** Queue length at the decision, including its own queries. */
  readonly queued: number | null;
  readonly slackMs: number | null;
  /** Pace of its worker; 1 if not logged. */
  readonly pace: number;
  readonly worker: number | null;
  /** How long the request's query waited for the batch; null if all its queries arrived at once. */
  readonly waitMs: number | null;
  readonly decidedMs: number | null;
  readonly handedMs: number | null;
  readonly doneMs: number | null;
  readonly workerMs: number | null;
  /** Workers that ran the batch together, and rows that were done before. */
  readonly places: readonly number[] | null;
  readonly doneRows: number | null;
  readonly isLost: boolean;
}

export interface LoggedRequest {
  /** Since 1970, ms with fractions. */
  readonly timeMs: number;
  readonly id: string;
  /** Empty if the request was not for a model. */
  readonly model: string;
  /** Null if the client left before the answer. */
  readonly status: number | null;
  readonly isGrpc: boolean;
  readonly totalMs: number;
  readonly lagMs: number;
  readonly sloMs: number | null;
  /** SLO class or bucket. */
  readonly kind: string | null;
  /** First digits of the digest of the bundle that decided. */
  readonly bundle: string | null;
  readonly rows: number;
  readonly readMs: number | null;
  readonly failedMs: number | null;
  readonly queueMs: number | null;
  readonly computeMs: number | null;
  /** Length of the response body. */
  readonly responseBytes: number;
  readonly variant: string | null;
  /** In order of completion; empty in logs of old servers. */
  readonly runs: readonly LoggedRun[];
  readonly reason: string | null;
  readonly error: string | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Parses a line. @returns null if it is not an entry of an access log. */
export function loggedRequest(line: string): LoggedRequest | null {
  const fields = fieldsOf(line);
  if (fields === null) return null;
  const timeMs = timeOf(fields["time"]);
  const totalMs = number(fields["totalMs"]);
  const id = text(fields["requestId"]);
  if (timeMs === null || totalMs === null || id === null) return null;
  return {
    timeMs,
    id,
    totalMs,
    model: text(fields["model"]) ?? "",
    status: number(fields["status"]),
    isGrpc: fields["protocol"] === "grpc",
    lagMs: number(fields["lagMs"]) ?? 0,
    sloMs: number(fields["sloMs"]),
    kind: text(fields["class"]),
    bundle: text(fields["bundle"]),
    rows: number(fields["rows"]) ?? 0,
    readMs: number(fields["readMs"]),
    failedMs: number(fields["failedMs"]),
    queueMs: number(fields["queueMs"]),
    computeMs: number(fields["computeMs"]),
    responseBytes: number(fields["responseBytes"]) ?? 0,
    variant: text(fields["variant"]),
    runs: runsOf(fields),
    reason: text(fields["reason"]),
    error: text(fields["error"]),
  };
}

/** Request that a model answered. */
export interface AnsweredRequest extends LoggedRequest {
  readonly queueMs: number;
  readonly computeMs: number;
}

/** Returns the answered requests of a log; its last line may be incomplete. */
export function answeredRequests(log: string): AnsweredRequest[] {
  return log.split("\n").flatMap((line) => {
    const request = loggedRequest(line);
    return request !== null && isAnswered(request) ? [request] : [];
  });
}

function isAnswered(request: LoggedRequest): request is AnsweredRequest {
  return request.status === 200 && request.queueMs !== null && request.computeMs !== null;
}

function fieldsOf(line: string): Fields | null {
  try {
    const value: unknown = JSON.parse(line);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads the batches of a request; a line without `runs` describes its only batch itself. */
function runsOf(fields: Fields): LoggedRun[] {
  const { runs } = fields;
  if (Array.isArray(runs)) return runs.filter(isFields).flatMap(runOf);
  return runOf(fields);
}

function runOf(fields: Fields): LoggedRun[] {
  const batch = number(fields["batch"]);
  const variant = text(fields["variant"]);
  if (batch === null || variant === null) return [];
  const isOwn = fields["requestId"] === undefined;
  return [
    {
      variant,
      batch,
      task: text(fields["task"]),
      level: number(fields["level"]),
      queued: number(fields["queued"]),
      slackMs: number(fields["slackMs"]),
      pace: number(fields["pace"]) ?? 1,
      worker: number(fields["worker"]),
      waitMs: isOwn ? number(fields["queueMs"]) : null,
      decidedMs: number(fields["decidedMs"]),
      handedMs: number(fields["handedMs"]),
      doneMs: number(fields["doneMs"]),
      workerMs: number(fields["workerMs"]),
      places: numbers(fields["places"]),
      doneRows: number(fields["doneRows"]),
      isLost: fields["lost"] === true,
    },
  ];
}

/** Parses `2026-11-23T03:00:00.000123Z`; digits after the milliseconds may be missing. */
function timeOf(value: unknown): number | null {
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})(\d{0,6})Z$/.exec(String(value));
  if (match === null) return null;
  const [, whole, fraction = ""] = match;
  const wholeMs = Date.parse(`${whole}Z`);
  return Number.isNaN(wholeMs) ? null : wholeMs + Number(`0.${fraction}0`);
}

function number(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

function numbers(value: unknown): readonly number[] | null {
  if (!Array.isArray(value)) return null;
  return value.filter((one): one is number => typeof one === "number");
}

function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
