/** Counters of a running server of one model endpoint, and their text for Prometheus. */
import { Histogram, head, line, type MetricLine, metric } from "../../../base/exposition.ts";
import { applicationLines, workerLines } from "../../../base/metric-families.ts";
import type { LossCause } from "../../../exec/models/scaler.ts";
import { BATCH_BOUNDS, SLACK_BOUNDS_SECONDS } from "../../../server/metrics/histogram-bounds.ts";
import { LossCounts } from "../../../server/metrics/loss-counts.ts";
import { type Promised, promiseLines } from "../../../server/metrics/promise-lines.ts";
import { RequestMetrics } from "../../../server/requests/request-metrics.ts";
import type { ClassView } from "../describe/class-level-view.ts";
import { ClassMetrics, type KindLabel } from "./class-metrics.ts";
import type { BatchStart, SchedulerObserver } from "./open-requests.ts";

/** Result of computing a level while the server runs. */
export type GenerationOutcome = "added" | "infeasible" | "failed";

/** State of the server at the time it is asked. */
interface MetricsGauges {
  readonly loadQps: number;
  readonly pendingQueries: number;
  readonly readyWorkers: number;
  readonly workers: number;
  readonly topLevelQps: number;
  readonly bundleSha256: string;
  /** Returns each class at a level; empty without classes. */
  readonly classesAt: (level: number) => readonly ClassView[];
  readonly promisedAt: (level: number) => Promised;
}

export class Metrics extends RequestMetrics implements SchedulerObserver {
  /** Batch sizes per variant, with its name. */
  readonly #batchSizes: readonly (readonly [variant: string, sizes: Histogram])[];
  readonly #slack = new Histogram(SLACK_BOUNDS_SECONDS);
  readonly #classes: ClassMetrics | null;
  readonly #label: KindLabel;
  readonly #accuracyByVariant: readonly number[];
  /** Sum of the accuracies of rows that were answered in time. */
  #accuracySum = 0;
  readonly #queries = { satisfied: 0, late: 0, dropped: 0 };
  #level = Number.NaN;
  readonly #losses = new LossCounts();
  readonly #generations: Record<GenerationOutcome, number> = { added: 0, infeasible: 0, failed: 0 };

  /** @param kindNames of classes or buckets; empty if all queries are alike. */
  constructor(
    model: string,
    variants: readonly { readonly name: string; readonly accuracy: number }[],
    kindNames: readonly string[] = [],
    label: KindLabel = "slo_class",
  ) {
    super(model);
    const accuracies = variants.map(({ accuracy }) => accuracy);
    this.#label = label;
    this.#classes = kindNames.length === 0 ? null : new ClassMetrics(kindNames, accuracies, label);
    this.#accuracyByVariant = accuracies;
    this.#batchSizes = variants.map(({ name }) => [name, new Histogram(BATCH_BOUNDS)]);
  }

  /** Index of the level that decided last; NaN before. */
  get level(): number {
    return this.#level;
  }

  /** Rows by outcome, since the start. */
  get rows(): Readonly<Record<"satisfied" | "late" | "dropped", number>> {
    return { ...this.#queries };
  }

  /** Sum of the stated accuracies of the variants that answered rows in time. */
  get accuracySum(): number {
    return this.#accuracySum;
  }

  onBatchStart({ variant, level, rows, slackMs }: BatchStart): void {
    this.#level = level;
    this.#slack.observe(slackMs / 1000);
    this.#batchSizes[variant]?.[1].observe(rows);
  }

  onQueryDropped(sloClass: number): void {
    this.#queries.dropped++;
    this.#classes?.onQueryDropped(sloClass);
  }

  onQueryAnswered(isLate: boolean, sloClass: number, variant: number): void {
    this.#classes?.onQueryAnswered(isLate, sloClass, variant);
    if (isLate) this.#queries.late++;
    else {
      this.#queries.satisfied++;
      this.#accuracySum += this.#accuracyByVariant[variant] ?? 0;
    }
  }

  onWorkerLost(cause: LossCause): void {
    this.#losses.onWorkerLost(cause);
  }

  onQueryRetried(queries = 1): void {
    this.#losses.queriesRetried += queries;
  }

  onGenerationDone(outcome: GenerationOutcome): void {
    this.#generations[outcome]++;
  }

  lines(gauges: MetricsGauges): MetricLine[] {
    return [...this.tritonLines(), ...this.#ownLines(gauges)];
  }

  #ownLines(gauges: MetricsGauges): MetricLine[] {
    const { pendingQueries, readyWorkers: ready, workers: total } = gauges;
    const size = "stratagem_batch_size";
    const slack = "stratagem_dispatch_slack_seconds";
    const generations = "stratagem_level_generations_total";
    return [
      head(size, "histogram", "Rows of started batches, by variant"),
      ...this.#batchSizes.flatMap(([variant, sizes]) => sizes.lines(size, { variant })),
      head(slack, "histogram", "Slack of a batch when it starts"),
      ...this.#slack.lines(slack, {}),
      head("stratagem_queries_total", "counter", "Rows of requests by outcome"),
      ...(this.#classes?.queryLines() ??
        Object.entries(this.#queries).map(([outcome, count]) =>
          line("stratagem_queries_total", { outcome }, count),
        )),
      ...(this.#classes?.lines(gauges.classesAt(this.#level)) ??
        promiseLines(gauges.promisedAt(this.#level), this.#accuracySum)),
      ...(this.#label === "bucket"
        ? (this.#classes?.paddingLines(this.paddingByBucket) ?? [])
        : []),
      ...metric(
        "stratagem_level",
        "gauge",
        "Index of the load level that decided last",
        this.#level,
      ),
      head(generations, "counter", "Levels computed while serving"),
      ...Object.entries(this.#generations).map(([outcome, count]) =>
        line(generations, { outcome }, count),
      ),
      ...metric("stratagem_pending_queries", "gauge", "Queries that wait or run", pendingQueries),
      ...workerLines({ total, ready }),
      ...this.#losses.lines(),
      ...applicationLines({ ...gauges, application: this.model }),
    ];
  }
}
