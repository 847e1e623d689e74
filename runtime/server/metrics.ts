/** Counters of a running server, and their text for Prometheus (exposition format 0.0.4). */
import type { FailureReason } from "./request.ts";
import type { BatchStart, SchedulerObserver } from "./scheduler.ts";

const SLACK_BOUNDS_MS = [-100, -10, 0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000];
const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64];

/** Triton's reasons for a failed request; it has no others. */
type FailureLabel = "REJECTED" | "CANCELED" | "BACKEND" | "OTHER";

const LABEL_BY_REASON: Readonly<Record<FailureReason, FailureLabel>> = {
  "queue-full": "REJECTED",
  late: "REJECTED",
  "no-worker": "REJECTED",
  cancelled: "CANCELED",
  inference: "BACKEND",
  "worker-lost": "BACKEND",
  closed: "OTHER",
};

/** What became of a level that was computed while the server ran. */
export type GenerationOutcome = "added" | "infeasible" | "failed";

/** State of the server at the time it is asked. */
export interface MetricsGauges {
  readonly loadQps: number;
  readonly pendingQueries: number;
  readonly readyWorkers: number;
  readonly workers: number;
  readonly levelCount: number;
  readonly topLevelQps: number;
  readonly bundleSha256: string;
}

export interface BatchSizeCount {
  count: number;
  inferMs: number;
}

class Histogram {
  readonly #bounds: readonly number[];
  readonly #countByBucket: number[];
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#countByBucket = bounds.map(() => 0);
  }

  observe(value: number): void {
    this.#sum += value;
    this.#count++;
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) this.#countByBucket[bucket] = (this.#countByBucket[bucket] ?? 0) + 1;
  }

  lines(name: string, labels: Labels): string[] {
    let cumulative = 0;
    const buckets = this.#bounds.map((bound, index) => {
      cumulative += this.#countByBucket[index] ?? 0;
      return line(`${name}_bucket`, { ...labels, le: String(bound) }, cumulative);
    });
    return [
      ...buckets,
      line(`${name}_bucket`, { ...labels, le: "+Inf" }, this.#count),
      line(`${name}_sum`, labels, this.#sum),
      line(`${name}_count`, labels, this.#count),
    ];
  }
}

export class Metrics implements SchedulerObserver {
  readonly #model: string;
  readonly #variantNames: readonly string[];
  readonly #decisionsByVariant: number[];
  readonly #batchSizeByVariant: readonly Histogram[];
  readonly #slack = new Histogram(SLACK_BOUNDS_MS);
  readonly #failures: Record<FailureLabel, number> = {
    REJECTED: 0,
    CANCELED: 0,
    BACKEND: 0,
    OTHER: 0,
  };
  readonly #queries = { satisfied: 0, late: 0, dropped: 0 };
  #level = Number.NaN;
  #workersLost = 0;
  readonly #generations: Record<GenerationOutcome, number> = { added: 0, infeasible: 0, failed: 0 };
  #failedMs = 0;
  /** What Triton's statistics report. */
  successCount = 0;
  requestMs = 0;
  queueMs = 0;
  inferMs = 0;
  inferenceCount = 0;
  executionCount = 0;
  lastRequestMs = 0;
  readonly countByBatchSize = new Map<number, BatchSizeCount>();

  constructor(model: string, variantNames: readonly string[]) {
    this.#model = model;
    this.#variantNames = variantNames;
    this.#decisionsByVariant = variantNames.map(() => 0);
    this.#batchSizeByVariant = variantNames.map(() => new Histogram(BATCH_BOUNDS));
  }

  get failureCount(): number {
    return Object.values(this.#failures).reduce((sum, count) => sum + count, 0);
  }

  get failedMs(): number {
    return this.#failedMs;
  }

  onBatchStart({ variant, level, rows, slackMs }: BatchStart): void {
    this.#level = level;
    this.#slack.observe(slackMs);
    this.#decisionsByVariant[variant] = (this.#decisionsByVariant[variant] ?? 0) + 1;
    this.#batchSizeByVariant[variant]?.observe(rows);
  }

  onBatchDone({ rows }: BatchStart, wallMs: number): void {
    this.inferenceCount += rows;
    this.executionCount++;
    // Batches are no larger than the bundle's tables allow, so the map is small.
    const known = this.countByBatchSize.get(rows) ?? { count: 0, inferMs: 0 };
    known.count++;
    known.inferMs += wallMs;
    this.countByBatchSize.set(rows, known);
  }

  onQueryDropped(): void {
    this.#queries.dropped++;
  }

  onQueryAnswered(isLate: boolean): void {
    if (isLate) this.#queries.late++;
    else this.#queries.satisfied++;
  }

  onWorkerLost(): void {
    this.#workersLost++;
  }

  onGenerationDone(outcome: GenerationOutcome): void {
    this.#generations[outcome]++;
  }

  onRequestAnswered(
    times: { readonly requestMs: number; readonly queueMs: number; readonly inferMs: number },
    nowMs: number,
  ): void {
    this.successCount++;
    this.requestMs += times.requestMs;
    this.queueMs += times.queueMs;
    this.inferMs += times.inferMs;
    this.lastRequestMs = nowMs;
  }

  /** @param reason undefined for a request that was refused before it was scheduled. */
  onRequestFailed(reason: FailureReason | undefined, requestMs: number, nowMs: number): void {
    this.#failures[reason === undefined ? "OTHER" : LABEL_BY_REASON[reason]]++;
    this.#failedMs += requestMs;
    this.lastRequestMs = nowMs;
  }

  text(gauges: MetricsGauges): string {
    return `${[...this.#tritonLines(), ...this.#ownLines(gauges)].join("\n")}\n`;
  }

  #tritonLines(): string[] {
    const labels = { model: this.#model, version: "1" };
    const counter = (name: string, help: string, value: number) => [
      ...head(`nv_inference_${name}`, "counter", help),
      line(`nv_inference_${name}`, labels, value),
    ];
    const us = (ms: number) => Math.round(ms * 1000);
    return [
      ...counter("request_success", "Requests answered", this.successCount),
      ...head("nv_inference_request_failure", "counter", "Requests not answered, by reason"),
      ...Object.entries(this.#failures).map(([reason, count]) =>
        line("nv_inference_request_failure", { ...labels, reason }, count),
      ),
      ...counter("count", "Rows run", this.inferenceCount),
      ...counter("exec_count", "Batches run", this.executionCount),
      ...counter("request_duration_us", "Time of answered requests", us(this.requestMs)),
      ...counter("queue_duration_us", "Time answered requests waited", us(this.queueMs)),
      ...counter("compute_infer_duration_us", "Time answered requests ran", us(this.inferMs)),
    ];
  }

  #ownLines(gauges: MetricsGauges): string[] {
    const { loadQps, pendingQueries, readyWorkers, workers } = gauges;
    const one = (name: string, type: string, help: string, value: number, labels: Labels = {}) => [
      ...head(`stratagem_${name}`, type, help),
      line(`stratagem_${name}`, labels, value),
    ];
    return [
      ...head("stratagem_decisions_total", "counter", "Batches started, by variant"),
      ...this.#variantNames.map((variant, index) =>
        line("stratagem_decisions_total", { variant }, this.#decisionsByVariant[index] ?? 0),
      ),
      ...head("stratagem_batch_size", "histogram", "Rows of a started batch, by variant"),
      ...this.#variantNames.flatMap(
        (variant, index) =>
          this.#batchSizeByVariant[index]?.lines("stratagem_batch_size", { variant }) ?? [],
      ),
      ...head("stratagem_dispatch_slack_ms", "histogram", "Slack of a batch when it starts"),
      ...this.#slack.lines("stratagem_dispatch_slack_ms", {}),
      ...head("stratagem_queries_total", "counter", "Rows by what became of them"),
      ...Object.entries(this.#queries).map(([outcome, count]) =>
        line("stratagem_queries_total", { outcome }, count),
      ),
      ...one("level", "gauge", "Index of the load level that decided last", this.#level),
      ...one("levels", "gauge", "Load levels there are", gauges.levelCount),
      ...one("top_level_qps", "gauge", "Load of the highest level", gauges.topLevelQps),
      ...head("stratagem_level_generations_total", "counter", "Levels computed while serving"),
      ...Object.entries(this.#generations).map(([outcome, count]) =>
        line("stratagem_level_generations_total", { outcome }, count),
      ),
      ...one("load_qps", "gauge", "Measured load, rows per second", loadQps),
      ...one("pending_queries", "gauge", "Rows that wait or run", pendingQueries),
      ...one("workers", "gauge", "Workers of the cluster", workers),
      ...one("workers_ready", "gauge", "Workers that take batches", readyWorkers),
      ...one("workers_lost_total", "counter", "Workers that ended", this.#workersLost),
      ...one("bundle_info", "gauge", "The policy bundle that decides", 1, {
        application: this.#model,
        sha256: gauges.bundleSha256,
      }),
    ];
  }
}

type Labels = Readonly<Record<string, string>>;

function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}
