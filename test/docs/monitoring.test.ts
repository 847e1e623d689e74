/** The dashboard and the alerts are made of the list of metrics; WRITE_DOCS=1 writes them. */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { alertRules, alertsText, recordingRules } from "../../lab/monitoring/alerts.ts";
import { dashboardExpressions, dashboardText } from "../../lab/monitoring/dashboard.ts";
import { listedMetrics, metricsIn, unknownLabelsIn } from "../../lab/monitoring/metric-table.ts";

const ALERTS = "docs/deploy/alerts.yaml";
const DASHBOARD = "docs/deploy/grafana-dashboard.json";

const listed = listedMetrics();
const rules = [...recordingRules(), ...alertRules()];
const expressions = [...rules.map(({ expr }) => expr), ...dashboardExpressions()];

test.each([
  [ALERTS, () => alertsText()],
  [DASHBOARD, () => dashboardText(listed)],
])("%s is what the script makes", (path, textOf) => {
  if (process.env["WRITE_DOCS"] !== undefined) writeFileSync(path, textOf());
  expect(readFileSync(path, "utf8")).toBe(textOf());
});

test("every metric and every label that they name is one that servers tell", () => {
  const recorded = new Set(recordingRules().map(({ record }) => record));
  const named = rules.flatMap(({ expr }) => expr.match(/stratagem:[\w:]+/g) ?? []);
  expect(named.filter((name) => !recorded.has(name))).toEqual([]);
  const all = expressions.flatMap((expression) => metricsIn(expression, listed));
  expect(all.filter(({ isKnown }) => !isKnown)).toEqual([]);
  expect(all.length).toBeGreaterThan(60);
  const bare = expressions.filter((expression) => !expression.includes("stratagem:"));
  expect(bare.flatMap((expression) => unknownLabelsIn(expression, listed))).toEqual([]);
});

test("a metric that is not there, or has no such label, is seen", () => {
  const wrong = "sum by (who) (rate(stratagem_level_count{code='1'}[5m]))";
  expect(metricsIn(wrong, listed)).toEqual([{ name: "stratagem_level_count", isKnown: false }]);
  expect(unknownLabelsIn("sum by (who) (stratagem_level{code='1'})", listed)).toEqual([
    "who",
    "code",
  ]);
});

test("the panels of the dashboard have ids of their own and do not overlap", () => {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, "utf8"));
  interface Panel {
    readonly id: number;
    readonly title: string;
    readonly gridPos: {
      readonly x: number;
      readonly y: number;
      readonly w: number;
      readonly h: number;
    };
  }
  const cells = (panels as Panel[]).flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(new Set((panels as Panel[]).map(({ id }) => id)).size).toBe(panels.length);
  expect((panels as Panel[]).every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});

test.each([
  ["Latency of requests", "stratagem_request_duration_seconds", "latency"],
  ["Time in the queue", "stratagem_request_phase_seconds", "queue"],
  ["Time of batches", "stratagem_service_time_seconds", "service_time"],
])("the panel %s has the same percentiles of both", (what, metric, figure) => {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, "utf8"));
  const title = `${what}, measured and predicted`;
  const panel = panels.find((one: { readonly title: string }) => one.title === title);
  const exprs: string[] = panel.targets.map(({ expr }: { readonly expr: string }) => expr);
  const sharesOf = (text: string) =>
    exprs
      .filter((expr) => expr.includes(text))
      .map((expr) => expr.match(/quantile\(([\d.]+),/)?.[1]);
  expect(sharesOf(`${metric}_bucket`)).toEqual(["0.5", "0.99"]);
  expect(sharesOf(`figure="${figure}"`)).toEqual(["0.5", "0.99"]);
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

describe.skipIf(!hasPromtool)("promtool (skipped where the package prometheus is missing)", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "stratagem-rules-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  function promtool(...args: string[]): string {
    const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
    return status === 0 ? "good" : `${stdout}${stderr}`;
  }

  test("accepts the rules", () => {
    expect(promtool("check", "rules", ALERTS)).toBe("good");
  });

  test("accepts every expression of the dashboard", () => {
    const path = join(folder, "dashboard.yaml");
    const asked = dashboardExpressions().map((expr, index) => ({
      record: `dashboard:expression${index}`,
      expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$model", ".*"),
    }));
    writeFileSync(path, stringify({ groups: [{ name: "dashboard", rules: asked }] }));
    expect(promtool("check", "rules", path)).toBe("good");
  });

  /** Rows by outcome, in each minute. */
  const rows = (outcome: string, perMinute: number, minutes: number) => ({
    series: `stratagem_queries_total{model="letters", outcome="${outcome}"}`,
    values: `0+${perMinute}x${minutes}`,
  });
  const constant = (series: string, value: number, minutes: number) => ({
    series,
    values: `${value}+0x${minutes}`,
  });

  interface Case {
    readonly series: readonly { readonly series: string; readonly values: string }[];
    readonly at: string;
    /** Names of the alerts that are to fire, of those that were asked about. */
    readonly fires: readonly string[];
    readonly silent: readonly string[];
  }

  const broken: Case = {
    series: [
      rows("satisfied", 900, 120),
      rows("late", 80, 120),
      rows("dropped", 20, 120),
      constant('stratagem_expected_ratio{model="letters",figure="violations"}', 0.02, 120),
      constant('stratagem_expected_ratio{model="letters",figure="accuracy"}', 0.9, 120),
      { series: 'stratagem_satisfied_accuracy_total{model="letters"}', values: "0+720x120" },
    ],
    at: "110m",
    fires: ["StratagemViolationsAbovePromise", "StratagemAccuracyBelowPromise"],
    silent: ["StratagemBudgetBurn1h", "StratagemNoWorkers", "StratagemReloadFailed"],
  };
  const kept: Case = {
    ...broken,
    series: [
      rows("satisfied", 995, 120),
      rows("late", 5, 120),
      rows("dropped", 0, 120),
      constant('stratagem_expected_ratio{model="letters",figure="violations"}', 0.001, 120),
      constant('stratagem_expected_ratio{model="letters",figure="accuracy"}', 0.9, 120),
      { series: 'stratagem_satisfied_accuracy_total{model="letters"}', values: "0+895.5x120" },
    ],
    fires: [],
    silent: [...broken.fires, "StratagemBudgetBurn1h", "StratagemBudgetBurn6h"],
  };
  const burning: Case = {
    series: [rows("satisfied", 700, 120), rows("dropped", 300, 120)],
    at: "90m",
    fires: ["StratagemBudgetBurn1h"],
    silent: ["StratagemAccuracyBelowPromise"],
  };
  const over: Case = {
    // It has burnt for half an hour, and does no more.
    series: [
      rows("satisfied", 1000, 120),
      {
        series: 'stratagem_queries_total{model="letters", outcome="dropped"}',
        values: "0+600x30 18000+0x90",
      },
    ],
    at: "45m",
    fires: [],
    silent: ["StratagemBudgetBurn1h"],
  };
  const failing: Case = {
    series: [
      constant('stratagem_workers{model="letters", instance="a", state="ready"}', 0, 20),
      { series: 'stratagem_workers_lost_total{model="letters", instance="a"}', values: "0+1x20" },
      constant('stratagem_reload_last_successful{model="letters", instance="a"}', 0, 20),
      constant('stratagem_load_qps{model="letters", instance="a"}', 30, 20),
      constant('stratagem_top_level_qps{model="letters", instance="a"}', 20, 20),
      { series: 'stratagem_log_records_total{log="access",outcome="lost"}', values: "0+1x20" },
      constant('process_open_fds{instance="a"}', 95, 20),
      constant('process_max_fds{instance="a"}', 100, 20),
      constant('stratagem_connections{instance="a"}', 1, 20),
      ...["0.05", "0.1", "+Inf"].map((le, index) => ({
        series: `stratagem_event_loop_delay_seconds_bucket{instance="a", le="${le}"}`,
        values: `0+${[10, 100, 100][index]}x20`,
      })),
    ],
    at: "18m",
    fires: [
      "StratagemNoWorkers",
      "StratagemWorkersLost",
      "StratagemReloadFailed",
      "StratagemLoadAboveTopLevel",
      "StratagemLogLinesDropped",
      "StratagemDescriptorsShort",
      "StratagemEventLoopHeld",
    ],
    silent: ["StratagemBudgetBurn1h", "StratagemViolationsAbovePromise"],
  };

  test.each([
    ["promises are broken", broken],
    ["promises are kept", kept],
    ["the budget burns", burning],
    ["the budget has burnt and does no more", over],
    ["workers, reloads and the server fail", failing],
  ])("alerts fire, and no others, where %s", (_, { series, at, fires, silent }) => {
    const path = join(folder, "test.yaml");
    // What is said of a firing alert is not looked at, only that it is one.
    const expressions = [...fires, ...silent].map((alert) => ({
      expr: `count(ALERTS{alertname="${alert}", alertstate="firing"}) or vector(0)`,
      eval_time: at,
      exp_samples: [{ labels: "{}", value: fires.includes(alert) ? 1 : 0 }],
    }));
    const tested = {
      rule_files: [resolve(ALERTS)],
      evaluation_interval: "1m",
      tests: [{ interval: "1m", input_series: series, promql_expr_test: expressions }],
    };
    writeFileSync(path, stringify(tested));
    expect(promtool("test", "rules", path)).toBe("good");
  });
});
