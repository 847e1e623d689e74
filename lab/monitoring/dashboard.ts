/** A dashboard for Grafana, made of the list of metrics. */
import type { ListedMetric } from "./metric-table.ts";

/** One curve, or one for each value of its labels. */
interface Curve {
  readonly expr: string;
  readonly legend: string;
}

interface PanelPlan {
  readonly title: string;
  /** As Grafana names it. */
  readonly unit: string;
  /** Whose help is the description. */
  readonly about: string;
  readonly curves: readonly Curve[];
  readonly isStacked?: boolean;
}

interface RowPlan {
  readonly title: string;
  readonly panels: readonly PanelPlan[];
}

const OF = '{model=~"$model"}';
const RATE = "$__rate_interval";

function curve(expr: string, legend: string): Curve {
  return { expr, legend };
}

const READY = '{model=~"$model", state="ready"}';
const TOTAL = '{model=~"$model", state="total"}';
const SLACK = "stratagem_dispatch_slack_seconds";

function rate(metric: string, by: string, more = ""): string {
  return `sum by (${by}) (rate(${metric}{model=~"$model"${more}}[${RATE}]))`;
}

function quantile(share: number, metric: string, more = "", what = ""): Curve {
  const counts = rate(`${metric}_bucket`, "model, le", more);
  return curve(`histogram_quantile(${share}, ${counts})`, `{{model}} p${share * 100}${what}`);
}

const EXPECTED = "stratagem_expected_seconds";
const SHARES = [0.5, 0.99];

/** Percentiles beside the predicted ones and the SLO. @param predicted if they have a promise. */
function quantiles(
  title: string,
  metric: string,
  more: string,
  predicted: readonly Curve[],
): PanelPlan {
  const slo = curve(`max by (model) (stratagem_slo_seconds${OF})`, "{{model}} SLO");
  const measured = SHARES.map((share) => quantile(share, metric, more));
  return { title, unit: "s", about: metric, curves: [...measured, ...predicted, slo] };
}

function predicted(figure: string): Curve[] {
  return SHARES.map((share) => quantile(share, EXPECTED, `, figure="${figure}"`, " predicted"));
}

function mean(metric: string, by: string, more = ""): string {
  return `${rate(`${metric}_sum`, by, more)} / ${rate(`${metric}_count`, by, more)}`;
}

function expected(figure: string): string {
  return `stratagem_expected_ratio{model=~"$model", figure="${figure}"}`;
}

const TIMES = "stratagem_service_time_seconds";
const BY_VARIANT = "model, task, variant";
const FIGURE = ', figure="service_time"';
const OUT = ', outcome=~"late|dropped"';
const ALL_ROWS = rate("stratagem_queries_total", "model, slo_class");
const IN_TIME = rate("stratagem_queries_total", "model, slo_class", ', outcome="satisfied"');

const ROWS: readonly RowPlan[] = [
  {
    title: "Promises",
    panels: [
      {
        title: "Violations, measured and promised",
        unit: "percentunit",
        about: "stratagem_expected_ratio",
        curves: [
          curve(
            `${rate("stratagem_queries_total", "model, slo_class", OUT)} / ${ALL_ROWS}`,
            "{{model}} {{slo_class}} measured",
          ),
          curve(
            `max by (model, slo_class) (${expected("violations")})`,
            "{{model}} {{slo_class}} promised",
          ),
        ],
      },
      {
        title: "Accuracy, measured and promised",
        unit: "percentunit",
        about: "stratagem_satisfied_accuracy_total",
        curves: [
          curve(
            `${rate("stratagem_satisfied_accuracy_total", "model, slo_class")} / ${IN_TIME}`,
            "{{model}} {{slo_class}} measured",
          ),
          curve(
            `min by (model, slo_class) (${expected("accuracy")})`,
            "{{model}} {{slo_class}} promised",
          ),
        ],
      },
      {
        title: "Rows by what became of them",
        unit: "ops",
        about: "stratagem_queries_total",
        isStacked: true,
        curves: [curve(rate("stratagem_queries_total", "model, outcome"), "{{model}} {{outcome}}")],
      },
    ],
  },
  {
    title: "Load and decisions",
    panels: [
      {
        title: "Load",
        unit: "ops",
        about: "stratagem_load_qps",
        curves: [
          curve(`sum by (model) (stratagem_load_qps${OF})`, "{{model}} measured"),
          curve(`sum by (model) (stratagem_top_level_qps${OF})`, "{{model}} top level"),
        ],
      },
      {
        title: "Level",
        unit: "none",
        about: "stratagem_level",
        curves: [curve(`stratagem_level${OF}`, "{{model}} {{instance}}")],
      },
      {
        title: "Batches by variant",
        unit: "ops",
        about: "stratagem_batch_size",
        isStacked: true,
        curves: [
          curve(rate("stratagem_batch_size_count", "model, task, variant"), "{{task}} {{variant}}"),
        ],
      },
      {
        title: "Mean rows of a batch",
        unit: "none",
        about: "stratagem_batch_size",
        curves: [
          curve(
            `${rate("stratagem_batch_size_sum", "model, variant")} / ` +
              rate("stratagem_batch_size_count", "model, variant"),
            "{{model}} {{variant}}",
          ),
        ],
      },
      {
        title: "Slack at the start of a batch",
        unit: "s",
        about: SLACK,
        curves: [0.01, 0.1, 0.5].map((share) => quantile(share, SLACK)),
      },
      {
        title: "Queries dropped",
        unit: "ops",
        about: "stratagem_queries_dropped_total",
        curves: [
          curve(
            rate("stratagem_queries_dropped_total", "model, task, reason"),
            "{{task}} {{reason}}",
          ),
        ],
      },
    ],
  },
  {
    title: "Times",
    panels: [
      quantiles(
        "Latency of requests, measured and predicted",
        "stratagem_request_duration_seconds",
        "",
        predicted("latency"),
      ),
      quantiles(
        "Time in the queue, measured and predicted",
        "stratagem_request_phase_seconds",
        ', phase="queue"',
        predicted("queue"),
      ),
      quantiles("Time of batches, measured and predicted", TIMES, "", predicted("service_time")),
      {
        title: "Mean time of batches over the predicted one",
        unit: "none",
        about: EXPECTED,
        curves: [
          curve(
            `(${mean(TIMES, BY_VARIANT)}) / (${mean(EXPECTED, BY_VARIANT, FIGURE)})`,
            "{{task}} {{variant}}",
          ),
        ],
      },
      quantiles("Time of computing", "stratagem_request_phase_seconds", ', phase="compute"', []),
      {
        title: "Pending",
        unit: "none",
        about: "stratagem_pending_queries",
        curves: [
          curve(`sum by (model) (stratagem_pending_queries${OF})`, "{{model}} queries"),
          curve(`sum by (model) (stratagem_pending_requests${OF})`, "{{model}} requests"),
        ],
      },
      {
        title: "Inference requests that failed",
        unit: "ops",
        about: "nv_inference_request_failure",
        curves: [
          curve(rate("nv_inference_request_failure", "model, reason"), "{{model}} {{reason}}"),
        ],
      },
    ],
  },
  {
    title: "Workers and bundles",
    panels: [
      {
        title: "Workers",
        unit: "none",
        about: "stratagem_workers",
        curves: [
          curve(`sum by (model) (stratagem_workers${READY})`, "{{model}} ready"),
          curve(`sum by (model) (stratagem_workers${TOTAL})`, "{{model}} all"),
        ],
      },
      {
        title: "Workers lost, queries tried again",
        unit: "none",
        about: "stratagem_workers_lost_total",
        curves: [
          curve(
            `sum by (model) (increase(stratagem_workers_lost_total${OF}[${RATE}]))`,
            "{{model}} lost",
          ),
          curve(
            `sum by (model) (increase(stratagem_queries_retried_total${OF}[${RATE}]))`,
            "{{model}} tried again",
          ),
        ],
      },
      {
        title: "Bundles",
        unit: "none",
        about: "stratagem_reload_last_successful",
        curves: [
          curve(`count by (model, sha256) (stratagem_bundle_info${OF})`, "{{model}} {{sha256}}"),
          curve(`min by (model) (stratagem_reload_last_successful${OF})`, "{{model}} reload good"),
        ],
      },
    ],
  },
  {
    title: "Server",
    panels: [
      {
        title: "Requests by status",
        unit: "ops",
        about: "stratagem_requests_total",
        isStacked: true,
        curves: [
          curve(
            `sum by (protocol, code) (rate(stratagem_requests_total[${RATE}]))`,
            "{{protocol}} {{code}}",
          ),
        ],
      },
      {
        title: "Connections",
        unit: "none",
        about: "stratagem_connections",
        curves: [
          curve("stratagem_connections", "{{instance}} {{protocol}}"),
          curve("stratagem_requests_in_flight", "{{instance}} {{protocol}} requests"),
        ],
      },
      {
        title: "Event loop, how late",
        unit: "s",
        about: "stratagem_event_loop_delay_seconds",
        curves: [
          curve(
            "histogram_quantile(0.99, sum by (instance, le) " +
              `(rate(stratagem_event_loop_delay_seconds_bucket[${RATE}])))`,
            "{{instance}} p99",
          ),
        ],
      },
      {
        title: "Processor of the server",
        unit: "percentunit",
        about: "process_cpu_seconds_total",
        curves: [curve(`rate(process_cpu_seconds_total[${RATE}])`, "{{instance}}")],
      },
      {
        title: "Memory",
        unit: "bytes",
        about: "process_resident_memory_bytes",
        curves: [
          curve("process_resident_memory_bytes", "{{instance}} resident"),
          curve("stratagem_buffered_bytes", "{{instance}} {{what}}"),
        ],
      },
    ],
  },
];

/** Grafana's grid has 24 columns. */
const WIDTH = 8;
const HEIGHT = 8;

/** Every expression, as Prometheus would be asked. */
export function dashboardExpressions(): string[] {
  return ROWS.flatMap(({ panels }) =>
    panels.flatMap(({ curves }) => curves.map(({ expr }) => expr)),
  );
}

/** The file for Grafana's import. @param listed for what panels say of themselves. */
export function dashboardText(listed: ReadonlyMap<string, ListedMetric>): string {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: plans } of ROWS) {
    panels.push(rowOf(title, panels.length + 1, y));
    y++;
    for (const [index, plan] of plans.entries()) {
      const x = (index % 3) * WIDTH;
      const atY = y + Math.floor(index / 3) * HEIGHT;
      panels.push(panelOf(plan, panels.length + 1, { x, y: atY }, listed));
    }
    y += Math.ceil(plans.length / 3) * HEIGHT;
  }
  return `${JSON.stringify({ ...FRAME, panels }, null, 2)}\n`;
}

function rowOf(title: string, id: number, y: number) {
  const gridPos = { h: 1, w: 24, x: 0, y };
  return { id, type: "row", title, collapsed: false, gridPos, panels: [] };
}

function panelOf(
  { title, unit, about, curves, isStacked = false }: PanelPlan,
  id: number,
  { x, y }: { readonly x: number; readonly y: number },
  listed: ReadonlyMap<string, ListedMetric>,
) {
  const stacking = { mode: isStacked ? "normal" : "none", group: "A" };
  return {
    id,
    type: "timeseries",
    title,
    description: `${about}: ${listed.get(about)?.help ?? ""}`,
    datasource: DATASOURCE,
    gridPos: { h: HEIGHT, w: WIDTH, x, y },
    fieldConfig: {
      defaults: {
        unit,
        min: about === SLACK ? undefined : 0,
        custom: { fillOpacity: isStacked ? 30 : 0, lineWidth: 1, showPoints: "never", stacking },
      },
      overrides: [],
    },
    options: {
      legend: { displayMode: "list", placement: "bottom", showLegend: true },
      tooltip: { mode: "multi", sort: "desc" },
    },
    targets: curves.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
      range: true,
    })),
  };
}

const DATASOURCE = { type: "prometheus", uid: "$datasource" };

const FRAME = {
  title: "Stratagem",
  uid: "stratagem",
  description: "What servers of Stratagem promise, measure and decide.",
  tags: ["stratagem"],
  schemaVersion: 39,
  version: 1,
  editable: true,
  graphTooltip: 1,
  refresh: "30s",
  time: { from: "now-1h", to: "now" },
  templating: {
    list: [
      { name: "datasource", type: "datasource", query: "prometheus", label: "Data source" },
      {
        name: "model",
        type: "query",
        label: "Model",
        datasource: DATASOURCE,
        query: { query: "label_values(stratagem_load_qps, model)", refId: "model" },
        includeAll: true,
        multi: true,
        allValue: ".*",
        current: { text: "All", value: "$__all" },
        refresh: 2,
      },
    ],
  },
};
