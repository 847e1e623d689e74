/** Counters of a running server of one model endpoint, and their text for Prometheus. */
import { Histogram, head, line, type MetricLine, metric } from "../../../base/exposition.ts";
import { BATCH_BOUNDS, SLACK_BOUNDS_MS } from "../../../server/metrics/histogram-bounds.ts";
import { LossCounts } from "../../../server/metrics/loss-counts.ts";
import { type Promised, promiseLines } from "../../../server/metrics/promise-lines.ts";
import { RequestMetrics } from "../../../server/requests/request-metrics.ts";
import type { ClassView } from "../describe/class-level-view.ts";
import { ClassMetrics, type KindLabel } from "./class-metrics.ts";
import type { BatchStart, SchedulerObserver } from "./open-requests.ts";

/** What became of a level that was computed while the server ran. */
export type GenerationOutcome = "added" | "infeasible" | "failed";

/** State of the server at the time it is asked. */
interface MetricsGauges {
  readonly loadQps: number;
  readonly pendingQueries: number;
  readonly readyWorkers: number;
  readonly workers: number;
  readonly levelCount: number;
  readonly topLevelQps: number;
  readonly bundleSha256: string;
  /** Of each class at a level; nothing without classes. */
  readonly classesAt: (level: number) => readonly ClassView[];
  readonly promisedAt: (level: number) => Promised;
}

export class Metrics extends RequestMetrics implements SchedulerObserver {
  readonly #variantNames: readonly string[];
  readonly #decisionsByVariant: number[];
  readonly #batchSizeByVariant: readonly Histogram[];
  readonly #slack = new Histogram(SLACK_BOUNDS_MS);
  readonly #classes: ClassMetrics | null;
  readonly #label: KindLabel;
  readonly #accuracyByVariant: readonly number[];
  /** Of the rows that were answered in time. */
  #accuracySum = 0;
  readonly #queries = { satisfied: 0, late: 0, dropped: 0 };
  #level = Number.NaN;
  readonly #losses = new LossCounts();
  readonly #generations: Record<GenerationOutcome, number> = { added: 0, infeasible: 0, failed: 0 };

  /** @param kindNames of classes or buckets; none where all queries are alike. */
  constructor(
    model: string,
    variants: readonly { readonly name: string; readonly accuracy: number }[],
    kindNames: readonly string[] = [],
    label: KindLabel = "slo_class",
  ) {
    super(model);
    const variantNames = variants.map(({ name }) => name);
    const accuracies = variants.map(({ accuracy }) => accuracy);
    this.#label = label;
    this.#classes = kindNames.length === 0 ? null : new ClassMetrics(kindNames, accuracies, label);
    this.#variantNames = variantNames;
    this.#accuracyByVariant = accuracies;
    this.#decisionsByVariant = variantNames.map(() => 0);
    this.#batchSizeByVariant = variantNames.map(() => new Histogram(BATCH_BOUNDS));
  }

  /** Index of the level that decided last; NaN before. */
  get level(): number {
    return this.#level;
  }

  /** By what became of them, since the start. */
  get rows(): Readonly<Record<"satisfied" | "late" | "dropped", number>> {
    return { ...this.#queries };
  }

  /** Stated accuracies of the variants that answered rows in time, summed. */
  get accuracySum(): number {
    return this.#accuracySum;
  }

  onBatchStart({ variant, level, rows, slackMs }: BatchStart): void {
    this.#level = level;
    this.#slack.observe(slackMs);
    this.#decisionsByVariant[variant] = (this.#decisionsByVariant[variant] ?? 0) + 1;
    this.#batchSizeByVariant[variant]?.observe(rows);
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

  onWorkerLost(isHung: boolean): void {
    this.#losses.onWorkerLost(isHung);
  }

  onQueryRetried(): void {
    this.#losses.queriesRetried++;
  }

  onGenerationDone(outcome: GenerationOutcome): void {
    this.#generations[outcome]++;
  }

  lines(gauges: MetricsGauges): MetricLine[] {
    return [...this.tritonLines(), ...this.#ownLines(gauges)];
  }

  #ownLines(gauges: MetricsGauges): MetricLine[] {
    const { loadQps, pendingQueries, readyWorkers, workers } = gauges;
    return [
      head("stratagem_decisions_total", "counter", "Batches started, by variant"),
      ...this.#variantNames.map((variant, index) =>
        line("stratagem_decisions_total", { variant }, this.#decisionsByVariant[index] ?? 0),
      ),
      head("stratagem_batch_size", "histogram", "Rows of a started batch, by variant"),
      ...this.#variantNames.flatMap(
        (variant, index) =>
          this.#batchSizeByVariant[index]?.lines("stratagem_batch_size", { variant }) ?? [],
      ),
      head("stratagem_dispatch_slack_ms", "histogram", "Slack of a batch when it starts"),
      ...this.#slack.lines("stratagem_dispatch_slack_ms", {}),
      head("stratagem_queries_total", "counter", "Rows by what became of them"),
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
      ...metric("stratagem_levels", "gauge", "Load levels there are", gauges.levelCount),
      ...metric(
        "stratagem_top_level_qps",
        "gauge",
        "Load of the highest level",
        gauges.topLevelQps,
      ),
      head("stratagem_level_generations_total", "counter", "Levels computed while serving"),
      ...Object.entries(this.#generations).map(([outcome, count]) =>
        line("stratagem_level_generations_total", { outcome }, count),
      ),
      ...metric("stratagem_load_qps", "gauge", "Measured load, rows per second", loadQps),
      ...metric("stratagem_pending_queries", "gauge", "Rows that wait or run", pendingQueries),
      ...metric("stratagem_workers", "gauge", "Workers of the cluster", workers),
      ...metric("stratagem_workers_ready", "gauge", "Workers that take batches", readyWorkers),
      ...this.#losses.lines(),
      ...metric("stratagem_bundle_info", "gauge", "The policy bundle that decides", 1, {
        application: this.model,
        sha256: gauges.bundleSha256,
      }),
    ];
  }
}
