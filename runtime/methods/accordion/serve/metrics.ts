/** Counters of a server of execution places, and their text for Prometheus. */

import { Histogram, head, line, type MetricLine, metric } from "../../../base/exposition.ts";
import { at } from "../../../server/graph/signature/pipeline-signature.ts";
import { SLACK_BOUNDS_MS } from "../../../server/metrics/histogram-bounds.ts";
import { LossCounts } from "../../../server/metrics/loss-counts.ts";
import { violationLines } from "../../../server/metrics/promise-lines.ts";
import { RequestMetrics } from "../../../server/requests/request-metrics.ts";
import { DROP_LATE, DROP_NO_PLACE, DROP_PLACES_LOST } from "../core/commands.ts";
import type { AccordionObserver, RowsOutcome } from "./observer.ts";

const PLACE_BOUNDS = [1, 2, 3, 4, 6, 8, 12, 16, 32, 64];

/** Words for why a query was dropped. */
const DROP_REASONS: readonly (readonly [reason: number, text: string])[] = [
  [DROP_LATE, "late"],
  [DROP_NO_PLACE, "no-worker"],
  [DROP_PLACES_LOST, "worker-lost"],
];

/** Words for how the places of a query change; after a loss it may have had none left. */
const CHANGES = ["shrink", "grow", "move", "restart"] as const;

type Change = (typeof CHANGES)[number];

/** State of the server at the time it is asked. */
interface AccordionGauges {
  readonly places: number;
  readonly readyPlaces: number;
  readonly busyPlaces: number;
  readonly activeQueries: number;
  readonly waitingQueries: number;
  readonly loadQps: number;
  readonly levelCount: number;
  readonly topLevelQps: number;
  readonly application: string;
  /** Of the lowest level that is not below the load. */
  readonly promisedViolationRate: number;
  readonly bundleSha256: string;
}

class ModelCounters {
  readonly name: string;
  readonly requests: RequestMetrics;
  readonly slack = new Histogram(SLACK_BOUNDS_MS);
  readonly places = new Histogram(PLACE_BOUNDS);
  readonly changes: Record<Change, number> = { shrink: 0, grow: 0, move: 0, restart: 0 };
  readonly dropsByReason = new Map(DROP_REASONS.map(([reason]) => [reason, 0]));
  readonly rows: Record<RowsOutcome, number> = { satisfied: 0, late: 0, dropped: 0 };
  instances = 0;
  redone = 0;

  constructor(name: string) {
    this.name = name;
    this.requests = new RequestMetrics(name);
  }
}

export class AccordionMetrics implements AccordionObserver {
  readonly #models: readonly ModelCounters[];
  readonly #losses = new LossCounts();

  /** @param modelNames in the order of the bundle. */
  constructor(modelNames: readonly string[]) {
    this.#models = modelNames.map((name) => new ModelCounters(name));
  }

  /** What is counted of the requests of a model. */
  requests(model: number): RequestMetrics {
    return at(this.#models, model).requests;
  }

  /** Of all models by what became of them, since the start. */
  get rows(): Readonly<Record<RowsOutcome, number>> {
    const sum = (outcome: RowsOutcome) =>
      this.#models.reduce((total, { rows }) => total + rows[outcome], 0);
    return { satisfied: sum("satisfied"), late: sum("late"), dropped: sum("dropped") };
  }

  onStart(model: number, places: number, slackMs: number): void {
    const { places: histogram, slack } = at(this.#models, model);
    histogram.observe(places);
    slack.observe(slackMs);
  }

  onReshape(model: number, placesBefore: number, places: number): void {
    at(this.#models, model).changes[changeOf(placesBefore, places)]++;
  }

  onInstanceDone(model: number): void {
    at(this.#models, model).instances++;
  }

  onInstancesForgotten(model: number, count: number): void {
    at(this.#models, model).redone += count;
  }

  onQueryDropped(model: number, reason: number): void {
    const { dropsByReason } = at(this.#models, model);
    dropsByReason.set(reason, (dropsByReason.get(reason) ?? 0) + 1);
  }

  /** Rows run one behind the other, so each is an execution of one row. */
  onQueryDone(model: number, rows: number, ranMs: number): void {
    const times = { inputMs: 0, inferMs: ranMs / rows, outputMs: 0 };
    for (let row = 0; row < rows; row++) this.requests(model).onBatchDone({ rows: 1 }, times);
  }

  onRowsDone(model: number, outcome: RowsOutcome, rows: number): void {
    at(this.#models, model).rows[outcome] += rows;
  }

  onWorkerLost(isHung: boolean): void {
    this.#losses.onWorkerLost(isHung);
  }

  onQueryRetried(): void {
    this.#losses.queriesRetried++;
  }

  lines(gauges: AccordionGauges): MetricLine[] {
    const requests = this.#models.map((model) => model.requests);
    return [
      ...RequestMetrics.tritonLines(requests),
      ...this.#queryLines(),
      ...this.#instanceLines(),
      ...this.#placeLines(gauges),
      ...this.#serverLines(gauges),
    ];
  }

  #queryLines(): MetricLine[] {
    const start = "stratagem_start_places";
    const slack = "stratagem_dispatch_slack_ms";
    const changes = "stratagem_reconfigurations_total";
    const dropped = "stratagem_queries_dropped_total";
    return [
      head(start, "histogram", "Execution places that a query starts with, by model"),
      ...this.#models.flatMap(({ name: model, places }) => places.lines(start, { model })),
      head(slack, "histogram", "Slack of a query when it starts, by model"),
      ...this.#models.flatMap(({ name: model, slack: own }) => own.lines(slack, { model })),
      head(changes, "counter", "Running queries that were given other places, by model"),
      ...this.#models.flatMap((one) =>
        CHANGES.map((change) => line(changes, { model: one.name, change }, one.changes[change])),
      ),
      head(dropped, "counter", "Queries dropped, by model and reason"),
      ...this.#models.flatMap(({ name: model, dropsByReason }) =>
        DROP_REASONS.map(([reason, text]) =>
          line(dropped, { model, reason: text }, dropsByReason.get(reason) ?? 0),
        ),
      ),
    ];
  }

  #instanceLines(): MetricLine[] {
    const done = "stratagem_instances_total";
    const redone = "stratagem_instances_redone_total";
    const rows = "stratagem_queries_total";
    return [
      head(done, "counter", "Rows that left the last stage, by model"),
      ...this.#models.map(({ name: model, instances }) => line(done, { model }, instances)),
      head(redone, "counter", "Rows that were on their way and began again, by model"),
      ...this.#models.map((one) => line(redone, { model: one.name }, one.redone)),
      head(rows, "counter", "Rows of requests by what became of them"),
      ...this.#models.flatMap((one) =>
        Object.entries(one.rows).map(([outcome, count]) =>
          line(rows, { model: one.name, outcome }, count),
        ),
      ),
    ];
  }

  #placeLines(gauges: AccordionGauges): MetricLine[] {
    const { places, readyPlaces, busyPlaces, activeQueries, waitingQueries } = gauges;
    return [
      ...metric("stratagem_places", "gauge", "Execution places", places),
      ...metric("stratagem_places_ready", "gauge", "Execution places that are up", readyPlaces),
      ...metric("stratagem_places_busy", "gauge", "Execution places that queries have", busyPlaces),
      ...metric("stratagem_active_queries", "gauge", "Queries that have places", activeQueries),
      ...metric("stratagem_waiting_queries", "gauge", "Queries that wait", waitingQueries),
    ];
  }

  #serverLines(gauges: AccordionGauges): MetricLine[] {
    const { loadQps, levelCount, topLevelQps, application, bundleSha256: sha256 } = gauges;
    const pending = gauges.activeQueries + gauges.waitingQueries;
    return [
      ...metric("stratagem_levels", "gauge", "Load levels there are", levelCount),
      ...metric("stratagem_top_level_qps", "gauge", "Load of the highest level", topLevelQps),
      ...violationLines(gauges.promisedViolationRate),
      ...metric("stratagem_load_qps", "gauge", "Measured load, queries a second", loadQps),
      ...metric("stratagem_pending_queries", "gauge", "Queries that wait or run", pending),
      ...metric("stratagem_workers", "gauge", "Workers of the cluster", gauges.places),
      ...metric(
        "stratagem_workers_ready",
        "gauge",
        "Workers that take batches",
        gauges.readyPlaces,
      ),
      ...this.#losses.lines(),
      ...metric("stratagem_bundle_info", "gauge", "The policy bundle that decides", 1, {
        application,
        sha256,
      }),
    ];
  }
}

function changeOf(placesBefore: number, places: number): Change {
  if (placesBefore === 0) return "restart";
  if (places === placesBefore) return "move";
  return places < placesBefore ? "shrink" : "grow";
}
