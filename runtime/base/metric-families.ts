/** Families of metrics that several parts of a server write: one name for each idea. */
import { head, type Labels, line, type MetricLine, metric } from "./exposition.ts";

type Counts = Iterable<readonly [key: string, count: number]>;

/** @param what the reason refers to, such as `request` or `batch`. */
export function refusedLines(what: string, countByReason: Counts): MetricLine[] {
  const name = "stratagem_refused_total";
  return [
    head(name, "counter", "Requests, sequences, feedback or batches refused, by reason"),
    ...Array.from(countByReason, ([reason, count]) => line(name, { what, reason }, count)),
  ];
}

export function endedConnectionLines(countByReason: Counts): MetricLine[] {
  const name = "stratagem_connections_ended_total";
  return [
    head(name, "counter", "Connections ended by the server for what clients did, by reason"),
    ...Array.from(countByReason, ([reason, count]) => line(name, { reason }, count)),
  ];
}

/** @param log `server`, `access`, `decisions`, `arrivals`, `traces` or `status`. */
export function logRecordLines(log: string, countByOutcome: Counts): MetricLine[] {
  const name = "stratagem_log_records_total";
  return [
    head(name, "counter", "Log lines, traces and reports, by whether their receiver took them"),
    ...Array.from(countByOutcome, ([outcome, count]) => line(name, { log, outcome }, count)),
  ];
}

/** @param what holds the bytes; `request_limit` is the most that requests can hold. */
export function bufferedByteLines(what: string, bytes: number): MetricLine[] {
  return metric("stratagem_buffered_bytes", "gauge", "Bytes held in memory", bytes, { what });
}

/** Open connections and requests of a listener. */
export function openLines(
  protocol: "http" | "grpc",
  open: { readonly connections?: number; readonly requests?: number },
): MetricLine[] {
  const { connections, requests } = open;
  const gauge = (name: string, help: string, value: number | undefined) =>
    value === undefined ? [] : metric(name, "gauge", help, value, { protocol });
  return [
    ...gauge("stratagem_connections", "Open connections", connections),
    ...gauge("stratagem_requests_in_flight", "Requests without an answer", requests),
  ];
}

/** @param counts of requests that are over, by their labels. */
export function requestCountLines(
  counts: Iterable<readonly [labels: Labels, count: number]>,
): MetricLine[] {
  const name = "stratagem_requests_total";
  return [
    head(name, "counter", "Requests that are over, by status; none: the client had gone"),
    ...Array.from(counts, ([labels, count]) => line(name, labels, count)),
  ];
}

/** @param what `bundle`, or a file of `tls` or `tokens`. */
export function lastReloadLines(
  what: string,
  isSuccessByModel: Iterable<readonly [labels: Labels, isSuccess: boolean]>,
): MetricLine[] {
  const name = "stratagem_reload_last_successful";
  return [
    head(name, "gauge", "1 unless the last reload was refused, and what was read before stays"),
    ...Array.from(isSuccessByModel, ([labels, isSuccess]) => {
      return line(name, { ...labels, what }, isSuccess ? 1 : 0);
    }),
  ];
}

/** @param what `signature` or `tls_certificate`. @param atS seconds since 1970. */
export function expiryLines(what: string, atS: number, labels: Labels = {}): MetricLine[] {
  const help = "End of the bundle's signature or the server's certificate, seconds since 1970";
  const name = "stratagem_expiry_timestamp_seconds";
  return metric(name, "gauge", help, atS, { ...labels, what });
}

/** @param resource `workers`, `cores` or `places`. */
export function scalingLines(
  resource: string,
  counts: Iterable<readonly [labels: Labels, countByChange: Readonly<Record<string, number>>]>,
): MetricLine[] {
  const name = "stratagem_scaling_actions_total";
  return [
    head(name, "counter", "Changes of workers of tasks, cores of workers, places of queries"),
    ...[...counts].flatMap(([labels, countByChange]) =>
      Object.entries(countByChange).map(([direction, count]) =>
        line(name, { ...labels, resource, direction }, count),
      ),
    ),
  ];
}

/** Workers by state; states overlap. */
export function workerLines(countByState: Readonly<Record<string, number>>): MetricLine[] {
  const name = "stratagem_workers";
  return [
    head(name, "gauge", "Workers: all, ready for batches, planned for, and busy"),
    ...Object.entries(countByState).map(([state, count]) => line(name, { state }, count)),
  ];
}

export function lostWorkerLines(
  counts: Iterable<readonly [labels: Labels, count: number]>,
): MetricLine[] {
  const name = "stratagem_workers_lost_total";
  return [
    head(name, "counter", "Workers that ended, hung, or failed batches that other workers ran"),
    ...Array.from(counts, ([labels, count]) => line(name, labels, count)),
  ];
}

/** Workers of a task: `target` is how many it is to have, `assigned` and `ready` what it has. */
export function taskWorkerLines(
  counts: Iterable<readonly [labels: Labels, countByState: Readonly<Record<string, number>>]>,
): MetricLine[] {
  const name = "stratagem_task_workers";
  return [
    head(name, "gauge", "Workers of a task: its target, and by variant those assigned and ready"),
    ...[...counts].flatMap(([labels, countByState]) =>
      Object.entries(countByState).map(([state, count]) => line(name, { ...labels, state }, count)),
    ),
  ];
}

/** Figures that a server of any method reports of its application. */
export interface ApplicationGauges {
  readonly loadQps: number;
  readonly topLevelQps: number;
  readonly bundleSha256: string;
  /** The application, as its bundle names it. */
  readonly application: string;
}

export function applicationLines(gauges: ApplicationGauges): MetricLine[] {
  const { loadQps, topLevelQps, application, bundleSha256: sha256 } = gauges;
  const info = { application, sha256 };
  return [
    ...metric("stratagem_load_qps", "gauge", "Measured load, rows of requests a second", loadQps),
    ...metric("stratagem_top_level_qps", "gauge", "Load of the highest level", topLevelQps),
    ...metric("stratagem_bundle_info", "gauge", "The policy bundle that decides", 1, info),
  ];
}
