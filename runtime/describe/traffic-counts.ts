/** Traffic counts of a front end, read from its `/metrics`. */
import type { MetricValue } from "./metrics-lines.ts";

/** Counts since the start of the front end. */
export interface TrafficCounts {
  /** Rows that were answered or given up. */
  readonly rows: number;
  /** Rows that were given up, included in `rows`. */
  readonly dropped: number;
  /** Requests that were answered. */
  readonly requests: number;
  /** Requests that were rejected, before or after they were read. */
  readonly rejected: number;
  /** Pace of its workers: service times relative to their profile; left out if not reported. */
  readonly pace?: number;
}

/** Traffic between two readings. */
export interface TrafficGrowth {
  readonly rows: number;
  readonly requests: number;
}

const PACE = "stratagem_pace";
const ROWS = "stratagem_queries_total";
const ANSWERED = "nv_inference_request_success";
const FAILED = "nv_inference_request_failure";
const IN_TIME = new Set(["satisfied", "late"]);

/**
 * @param application application whose samples count, if samples are labelled.
 * @returns null if the text has no samples of the application.
 */
export function trafficCounts(
  values: readonly MetricValue[],
  application: string,
): TrafficCounts | null {
  const own = values.filter(({ labels }) => (labels.get("model") ?? application) === application);
  const rows = own.filter(({ name }) => name === ROWS);
  if (rows.length === 0) return null;
  const isRejected = ({ name, labels }: MetricValue) =>
    name === FAILED && labels.get("reason") === "REJECTED";
  return {
    rows: sum(rows),
    dropped: sum(rows.filter(({ labels }) => !IN_TIME.has(labels.get("outcome") ?? ""))),
    requests: sum(own.filter(({ name }) => name === ANSWERED)),
    rejected: sum(own.filter(isRejected)),
    ...poolPace(own.filter(({ name }) => name === PACE)),
  };
}

/**
 * Returns the traffic between two readings. A front end that counts less than before has restarted.
 * A request rejected before it is read has no rows: it counts as one row, so that overload shows.
 */
export function trafficGrowth(before: TrafficCounts, after: TrafficCounts): TrafficGrowth {
  const isSame = after.rows >= before.rows && after.requests >= before.requests;
  const since = (key: Exclude<keyof TrafficCounts, "pace">) =>
    after[key] - (isSame ? before[key] : 0);
  const shed = Math.max(0, since("rejected") - since("dropped"));
  return { rows: since("rows") + shed, requests: since("requests") + since("rejected") };
}

/** Returns the pace of workers that share the load by speed. */
function poolPace(values: readonly MetricValue[]): Pick<TrafficCounts, "pace"> {
  const paces = values.filter(({ value }) => value > 0);
  const rate = paces.reduce((total, { value }) => total + 1 / value, 0);
  return rate > 0 ? { pace: paces.length / rate } : {};
}

function sum(values: readonly MetricValue[]): number {
  return values.reduce((total, { value }) => total + value, 0);
}
