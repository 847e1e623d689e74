/** Rules for Prometheus: how fast the SLO's budget burns, broken promises, losses, reloads. */
import { stringify } from "yaml";

/** Share of rows that may be late or dropped: of an SLO whose percentile is the 99th. */
export const BUDGET = 0.01;
/** By how much a measured share may miss what a level promises, sampling and drift included. */
const MARGIN = 0.01;
/** Rows of an hour below which nothing can be said of promises. */
const LEAST_ROWS = 1000;

const LATE = 'stratagem_queries_total{outcome=~"late|dropped"}';
const ALL = "stratagem_queries_total";
const BY = "by (model, slo_class)";
const WINDOWS = ["5m", "30m", "1h", "2h", "6h", "1d", "3d"] as const;

type Window = (typeof WINDOWS)[number];

/** Source: Google's SRE workbook, chapter 5, table 5-8: multiwindow, multi-burn-rate alerts. */
const BURNS: readonly (readonly [severity: string, long: Window, short: Window, factor: number])[] =
  [
    ["page", "1h", "5m", 14.4],
    ["page", "6h", "30m", 6],
    ["ticket", "1d", "2h", 3],
    ["ticket", "3d", "6h", 1],
  ];

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: { readonly summary: string; readonly description: string };
}

export interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

function violations(window: Window): string {
  return `stratagem:violations:ratio_rate${window}`;
}

export function recordingRules(): RecordingRule[] {
  return [
    ...WINDOWS.map((window) => ({
      record: violations(window),
      expr: `sum ${BY} (rate(${LATE}[${window}])) / sum ${BY} (rate(${ALL}[${window}]))`,
    })),
    {
      record: "stratagem:accuracy:ratio_rate1h",
      expr:
        `sum ${BY} (rate(stratagem_satisfied_accuracy_total[1h])) / ` +
        `sum ${BY} (rate(stratagem_queries_total{outcome="satisfied"}[1h]))`,
    },
  ];
}

export function alertRules(): AlertRule[] {
  return [...BURNS.map(burnAlert), ...promiseAlerts(), ...workerAlerts(), ...serverAlerts()];
}

/** Both windows, so that an alert ends soon after its cause. */
function burnAlert([severity, long, short, factor]: (typeof BURNS)[number]): AlertRule {
  const limit = Number((factor * BUDGET).toPrecision(6));
  return {
    alert: `StratagemBudgetBurn${long}`,
    expr: `${violations(long)} > ${limit} and ${violations(short)} > ${limit}`,
    labels: { severity },
    annotations: {
      summary: "{{ $labels.model }} burns its budget of violations",
      description:
        `Over ${long} {{ $value | humanizePercentage }} of the rows were late or dropped, ` +
        `${factor} times what an SLO of ${BUDGET * 100} % allows, and still are over ${short}.`,
    },
  };
}

function promiseAlerts(): AlertRule[] {
  const enough = `and on (model, slo_class) sum ${BY} (increase(${ALL}[1h])) > ${LEAST_ROWS}`;
  const promised = (metric: string, of: string) => `${of} ${BY} (avg_over_time(${metric}[1h]))`;
  const most = promised('stratagem_expected_ratio{figure="violations"}', "max");
  const least = promised('stratagem_expected_ratio{figure="accuracy"}', "min");
  return [
    {
      alert: "StratagemViolationsAbovePromise",
      expr: `${violations("1h")} > on (model, slo_class) (${most} + ${MARGIN}) ` + `${enough}`,
      for: "15m",
      labels: { severity: "ticket" },
      annotations: {
        summary: "{{ $labels.model }} breaks its promise of violations",
        description:
          "Over an hour {{ $value | humanizePercentage }} of the rows were late or dropped, more " +
          "than the levels that were followed promise: service times may have changed since " +
          "they were profiled.",
      },
    },
    {
      alert: "StratagemAccuracyBelowPromise",
      expr:
        `stratagem:accuracy:ratio_rate1h < on (model, slo_class) (${least} - ${MARGIN}) ` +
        `${enough}`,
      for: "15m",
      labels: { severity: "ticket" },
      annotations: {
        summary: "{{ $labels.model }} breaks its promise of accuracy",
        description:
          "Over an hour the rows answered in time had a mean accuracy of " +
          "{{ $value | humanizePercentage }}, less than the levels that were followed promise.",
      },
    },
    {
      alert: "StratagemPromiseBroken",
      expr: "stratagem_promise_holds == 0",
      labels: { severity: "ticket" },
      annotations: {
        summary: "{{ $labels.model }} breaks its promise of {{ $labels.promise }}",
        description:
          "What {{ $labels.instance }} measures is other than its bundle promises; its log says " +
          "since when and why.",
      },
    },
    {
      alert: "StratagemLoadAboveTopLevel",
      expr: "stratagem_load_qps > stratagem_top_level_qps",
      for: "10m",
      labels: { severity: "ticket" },
      annotations: {
        summary: "{{ $labels.model }} has more load than its bundle was compiled for",
        description: "{{ $value }} rows a second come, and no level promises anything of that.",
      },
    },
  ];
}

function workerAlerts(): AlertRule[] {
  return [
    {
      alert: "StratagemNoWorkers",
      expr: 'stratagem_workers{state="ready"} == 0',
      for: "1m",
      labels: { severity: "page" },
      annotations: {
        summary: "{{ $labels.model }} has no worker",
        description: "No worker of {{ $labels.model }} takes batches on {{ $labels.instance }}.",
      },
    },
    {
      alert: "StratagemWorkersLost",
      expr: "increase(stratagem_workers_lost_total[15m]) > 2",
      labels: { severity: "ticket" },
      annotations: {
        summary: "{{ $labels.model }} loses workers",
        description: "{{ $value }} workers ended or hung within 15 minutes; the log says why.",
      },
    },
  ];
}

function serverAlerts(): AlertRule[] {
  const loop = "stratagem_event_loop_delay_seconds_bucket";
  return [
    {
      alert: "StratagemReloadFailed",
      expr: "stratagem_reload_last_successful == 0",
      for: "1m",
      labels: { severity: "ticket" },
      annotations: {
        summary: "{{ $labels.instance }} follows an older {{ $labels.what }} than its file",
        description:
          "The file, of {{ $labels.model }} if it is a bundle, was refused when it was read " +
          "last; " +
          "the log says why.",
      },
    },
    {
      alert: "StratagemEventLoopHeld",
      expr: `histogram_quantile(0.99, sum by (instance, le) (rate(${loop}[5m]))) > 0.05`,
      for: "10m",
      labels: { severity: "ticket" },
      annotations: {
        summary: "the server at {{ $labels.instance }} has too little of its core",
        description: "One in a hundred timers was {{ $value }} s late or more.",
      },
    },
    {
      alert: "StratagemDescriptorsShort",
      expr: "process_open_fds / process_max_fds > 0.9 and stratagem_connections > 0",
      for: "5m",
      labels: { severity: "ticket" },
      annotations: {
        summary: "the server at {{ $labels.instance }} runs out of file descriptors",
        description: "{{ $value | humanizePercentage }} of what it may have are open.",
      },
    },
    {
      alert: "StratagemLogLinesDropped",
      expr: 'increase(stratagem_log_records_total{outcome="lost"}[15m]) > 0',
      labels: { severity: "ticket" },
      annotations: {
        summary: "the {{ $labels.log }} log at {{ $labels.instance }} has gaps",
        description: "Its receiver was away or too slow for {{ $value }} records in 15 minutes.",
      },
    },
  ];
}

/** Text of docs/deploy/alerts.yaml. */
export function alertsText(): string {
  const groups = [
    { name: "stratagem-ratios", rules: recordingRules() },
    { name: "stratagem-alerts", rules: alertRules() },
  ];
  const note =
    "# Rules for Prometheus, made by lab/monitoring/alerts.ts (WRITE_DOCS=1 npx vitest run\n" +
    "# test/docs/monitoring.test.ts). docs/operate.md says how they are used.\n";
  return note + stringify({ groups }, { lineWidth: 0, indent: 2 });
}
