/** Counters of a running pipeline, and their text for Prometheus. */

import { Histogram, head, line, type MetricLine, metric } from "../../base/exposition.ts";
import { applicationLines, taskWorkerLines, workerLines } from "../../base/metric-families.ts";
import { DROP_LATE, DROP_NO_WORKER, DROP_QUEUE_FULL } from "../../core/command-buffer.ts";
import type { LossCause } from "../../exec/models/scaler.ts";
import { BATCH_BOUNDS, SLACK_BOUNDS_SECONDS } from "../metrics/histogram-bounds.ts";
import { LossCounts } from "../metrics/loss-counts.ts";
import { type Promised, promiseLines } from "../metrics/promise-lines.ts";
import { RequestMetrics } from "../requests/request-metrics.ts";
import type { PipelineObserver, RowsOutcome, StartedBatch } from "./pipeline-observer.ts";
import { at, type PipelineSignature } from "./signature/pipeline-signature.ts";

/** Words for why a query was dropped. */
const DROP_REASONS: readonly (readonly [reason: number, text: string])[] = [
  [DROP_QUEUE_FULL, "queue-full"],
  [DROP_NO_WORKER, "no-worker"],
  [DROP_LATE, "late"],
];

/** State of the server at the time of the scrape. */
interface PipelineGauges {
  readonly loadQps: number;
  readonly pendingQueries: number;
  readonly readyWorkers: number;
  readonly workers: number;
  readonly servers: number;
  /**
   * Workers that are assigned each variant, and those that are ready with it, indexed by variant
   * across all tasks.
   */
  readonly workersByVariant: readonly { readonly assigned: number; readonly ready: number }[];
  readonly level: number;
  readonly topLevelQps: number;
  readonly bundleSha256: string;
  /** Promises of the current level. */
  readonly promise: Promised;
}

interface VariantCounters {
  readonly task: string;
  readonly variant: string;
  readonly batchSize: Histogram;
}

interface FanoutCounters {
  readonly variant: number;
  readonly child: number;
  served: number;
  sent: number;
}

interface DropCounter {
  readonly task: number;
  readonly reason: number;
  readonly text: string;
  count: number;
}

export class PipelineMetrics extends RequestMetrics implements PipelineObserver {
  readonly #taskNames: readonly string[];
  readonly #taskOfVariant: readonly number[];
  readonly #variants: readonly VariantCounters[];
  readonly #fanouts: readonly FanoutCounters[];
  readonly #drops: readonly DropCounter[];
  readonly #slackByTask: readonly Histogram[];
  readonly #rows: Record<RowsOutcome, number> = { satisfied: 0, late: 0, dropped: 0 };
  /** Sum over the rows that were answered in time. */
  #accuracySum = 0;
  readonly #losses = new LossCounts();

  constructor({ names, tasks, variants }: PipelineSignature) {
    super(names[0] ?? "");
    this.#taskNames = tasks.map(({ name }) => name);
    this.#taskOfVariant = variants.map(({ task }) => task);
    this.#variants = variants.map(({ task, name }) => ({
      task: at(tasks, task).name,
      variant: name,
      batchSize: new Histogram(BATCH_BOUNDS),
    }));
    this.#fanouts = variants.flatMap(({ task }, variant) =>
      at(tasks, task).edgesAway.map(({ child }) => ({ variant, child, served: 0, sent: 0 })),
    );
    this.#drops = tasks.flatMap((_, task) =>
      DROP_REASONS.map(([reason, text]) => ({ task, reason, text, count: 0 })),
    );
    this.#slackByTask = tasks.map(() => new Histogram(SLACK_BOUNDS_SECONDS));
  }

  /** Number of rows by outcome since the start. */
  get rows(): Readonly<Record<RowsOutcome, number>> {
    return { ...this.#rows };
  }

  /** Sum of the stated accuracies of the variants that answered rows in time. */
  get accuracySum(): number {
    return this.#accuracySum;
  }

  onBatchStart({ variant, rows, slackMs }: StartedBatch): void {
    at(this.#variants, variant).batchSize.observe(rows);
    at(this.#slackByTask, at(this.#taskOfVariant, variant)).observe(slackMs / 1000);
  }

  onQueryDropped(task: number, reason: number): void {
    const counter = this.#drops.find((one) => one.task === task && one.reason === reason);
    if (counter !== undefined) counter.count++;
  }

  onRowsDone(outcome: RowsOutcome, rows: number, accuracy = 0): void {
    this.#rows[outcome] += rows;
    if (outcome === "satisfied") this.#accuracySum += rows * accuracy;
  }

  onFanout(variant: number, child: number, count: number): void {
    const counters = this.#fanouts.find((one) => one.variant === variant && one.child === child);
    if (counters === undefined) return;
    counters.served++;
    counters.sent += count;
  }

  onWorkerLost(cause: LossCause): void {
    this.#losses.onWorkerLost(cause);
  }

  onQueryRetried(queries = 1): void {
    this.#losses.queriesRetried += queries;
  }

  lines(gauges: PipelineGauges): MetricLine[] {
    return [
      ...this.tritonLines(),
      ...this.#variantLines(),
      ...this.#taskLines(),
      ...this.#planLines(gauges),
      ...this.#clusterLines(gauges),
    ];
  }

  #variantLines(): MetricLine[] {
    const size = "stratagem_batch_size";
    const fanout = "stratagem_fanout";
    return [
      head(size, "histogram", "Rows of started batches, by variant"),
      ...this.#variants.flatMap(({ task, variant, batchSize }) =>
        batchSize.lines(size, { task, variant }),
      ),
      head(fanout, "gauge", "Queries sent to a child task per query served, since the start"),
      ...this.#fanouts.map(({ variant, child, served, sent }) => {
        const { task, variant: name } = at(this.#variants, variant);
        return line(
          fanout,
          { task, variant: name, child: at(this.#taskNames, child) },
          sent / served,
        );
      }),
    ];
  }

  #taskLines(): MetricLine[] {
    const slack = "stratagem_dispatch_slack_seconds";
    const dropped = "stratagem_queries_dropped_total";
    return [
      head(slack, "histogram", "Slack of a batch when it starts, by task"),
      ...this.#slackByTask.flatMap((histogram, task) =>
        histogram.lines(slack, { task: at(this.#taskNames, task) }),
      ),
      head(dropped, "counter", "Queries dropped, by task and reason"),
      ...this.#drops.map(({ task, text, count }) =>
        line(dropped, { task: at(this.#taskNames, task), reason: text }, count),
      ),
    ];
  }

  #planLines({ level, workersByVariant }: PipelineGauges): MetricLine[] {
    const none = { assigned: 0, ready: 0 };
    return [
      ...metric("stratagem_level", "gauge", "Index of the current load level", level),
      ...taskWorkerLines(
        this.#variants.map(({ task, variant }, index) => [
          { task, variant },
          workersByVariant[index] ?? none,
        ]),
      ),
    ];
  }

  #clusterLines(gauges: PipelineGauges): MetricLine[] {
    const { pendingQueries, readyWorkers: ready, workers: total, servers: planned } = gauges;
    return [
      head("stratagem_queries_total", "counter", "Rows of requests by outcome"),
      ...Object.entries(this.#rows).map(([outcome, count]) =>
        line("stratagem_queries_total", { outcome }, count),
      ),
      ...promiseLines(gauges.promise, this.#accuracySum),
      ...metric("stratagem_pending_queries", "gauge", "Queries that wait or run", pendingQueries),
      ...workerLines({ total, ready, planned }),
      ...this.#losses.lines(),
      ...applicationLines({ ...gauges, application: this.model }),
    ];
  }
}
