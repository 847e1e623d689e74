/** Counters of a server of execution places, and their text for Prometheus. */

import { Histogram, head, line, type MetricLine } from "../../../base/exposition.ts";
import {
  type ApplicationGauges,
  applicationLines,
  scalingLines,
  workerLines,
} from "../../../base/metric-families.ts";
import type { LossCause } from "../../../exec/models/scaler.ts";
import { at } from "../../../server/graph/signature/pipeline-signature.ts";
import { SLACK_BOUNDS_SECONDS } from "../../../server/metrics/histogram-bounds.ts";
import { LossCounts } from "../../../server/metrics/loss-counts.ts";
import { expectedLines } from "../../../server/metrics/promise-lines.ts";
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

/** Changes of a query's places; before `restart`, after a loss, it may have had none left. */
type Change = "down" | "up" | "move" | "restart";

/** State of the server at the time it is asked. */
interface AccordionGauges extends ApplicationGauges {
  readonly places: number;
  readonly readyPlaces: number;
  readonly busyPlaces: number;
  readonly activeQueries: number;
  readonly waitingQueries: number;
  /** Promise of the lowest level that is not below the load. */
  readonly promisedViolationRate: number;
}

class ModelCounters {
  readonly name: string;
  readonly requests: RequestMetrics;
  readonly slack = new Histogram(SLACK_BOUNDS_SECONDS);
  readonly places = new Histogram(PLACE_BOUNDS);
  readonly changes: Record<Change, number> = { down: 0, up: 0, move: 0, restart: 0 };
  readonly dropsByReason = new Map(DROP_REASONS.map(([reason]) => [reason, 0]));
  readonly rows: Record<RowsOutcome, number> = { satisfied: 0, late: 0, dropped: 0 };

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

  /** Counters of a model's requests. */
  requests(model: number): RequestMetrics {
    return at(this.#models, model).requests;
  }

  /** Rows of all models by outcome, since the start. */
  get rows(): Readonly<Record<RowsOutcome, number>> {
    const sum = (outcome: RowsOutcome) =>
      this.#models.reduce((total, { rows }) => total + rows[outcome], 0);
    return { satisfied: sum("satisfied"), late: sum("late"), dropped: sum("dropped") };
  }

  onStart(model: number, places: number, slackMs: number): void {
    const { places: histogram, slack } = at(this.#models, model);
    histogram.observe(places);
    slack.observe(slackMs / 1000);
  }

  onReshape(model: number, placesBefore: number, places: number): void {
    at(this.#models, model).changes[changeOf(placesBefore, places)]++;
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

  onWorkerLost(cause: LossCause): void {
    this.#losses.onWorkerLost(cause);
  }

  onQueryRetried(queries = 1): void {
    this.#losses.queriesRetried += queries;
  }

  lines(gauges: AccordionGauges): MetricLine[] {
    const requests = this.#models.map((model) => model.requests);
    return [
      ...RequestMetrics.tritonLines(requests),
      ...this.#queryLines(),
      ...this.#serverLines(gauges),
    ];
  }

  #queryLines(): MetricLine[] {
    const start = "stratagem_start_places";
    const slack = "stratagem_dispatch_slack_seconds";
    const dropped = "stratagem_queries_dropped_total";
    const rows = "stratagem_queries_total";
    return [
      head(start, "histogram", "Execution places that a query starts with, by model"),
      ...this.#models.flatMap(({ name: model, places }) => places.lines(start, { model })),
      head(slack, "histogram", "Slack of a query when it starts, by model"),
      ...this.#models.flatMap(({ name: model, slack: own }) => own.lines(slack, { model })),
      ...scalingLines(
        "places",
        this.#models.map(({ name: model, changes }) => [{ model }, changes]),
      ),
      head(dropped, "counter", "Queries dropped, by model and reason"),
      ...this.#models.flatMap(({ name: model, dropsByReason }) =>
        DROP_REASONS.map(([reason, text]) =>
          line(dropped, { model, reason: text }, dropsByReason.get(reason) ?? 0),
        ),
      ),
      head(rows, "counter", "Rows of requests by outcome"),
      ...this.#models.flatMap((one) =>
        Object.entries(one.rows).map(([outcome, count]) =>
          line(rows, { model: one.name, outcome }, count),
        ),
      ),
    ];
  }

  #serverLines(gauges: AccordionGauges): MetricLine[] {
    const { places: total, readyPlaces: ready, busyPlaces: busy } = gauges;
    const { activeQueries, waitingQueries, promisedViolationRate } = gauges;
    const pending = "stratagem_pending_queries";
    return [
      ...expectedLines("violations", [[{}, promisedViolationRate]]),
      head(pending, "gauge", "Queries that wait or run"),
      line(pending, { state: "running" }, activeQueries),
      line(pending, { state: "waiting" }, waitingQueries),
      ...workerLines({ total, ready, busy }),
      ...this.#losses.lines(),
      ...applicationLines(gauges),
    ];
  }
}

function changeOf(placesBefore: number, places: number): Change {
  if (placesBefore === 0) return "restart";
  if (places === placesBefore) return "move";
  return places < placesBefore ? "down" : "up";
}
