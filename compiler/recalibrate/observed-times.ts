/** Batch times that a server measured, from its `/metrics`. */
import { type MetricValue, metricValues } from "stratagem-runtime/internal/describe/metrics-lines";

const TIMES = "stratagem_service_time_seconds";

export interface Quantiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
}

/** Times of batches of one size of one variant, on one kind of worker. */
export interface ObservedTimes {
  /** The application; null if the metrics name none. */
  readonly model: string | null;
  readonly task: string | null;
  readonly variant: string;
  readonly pool: string | null;
  readonly bucket: string | null;
  readonly cores: string | null;
  /** Layers of a model that is cut, such as `0-5`. */
  readonly stage: string | null;
  readonly batch: number;
  readonly samples: number;
  /** Null if there are no recent measurements. */
  readonly ms: Quantiles | null;
}

const LABELS = ["model", "task", "variant", "pool", "bucket", "cores", "stage", "batch"] as const;

/**
 * @param text response to `GET /metrics`.
 * @returns its times, in its order.
 */
export function observedTimes(text: string): ObservedTimes[] {
  const lines = metricValues(text).filter(({ name }) => name.startsWith(TIMES));
  const byCell = new Map<string, MetricValue[]>();
  for (const line of lines) {
    const key = LABELS.map((name) => line.labels.get(name) ?? "").join("\n");
    byCell.set(key, [...(byCell.get(key) ?? []), line]);
  }
  return [...byCell.values()].flatMap((cell) => {
    const [first] = cell;
    return first === undefined ? [] : [cellOf(first.labels, cell)];
  });
}

function cellOf(labels: MetricValue["labels"], lines: readonly MetricValue[]): ObservedTimes {
  const label = (name: string) => labels.get(name) ?? null;
  const plain = (name: string) => lines.find((line) => line.name === name)?.value ?? Number.NaN;
  const quantile = (text: string) => {
    const found = lines.find((line) => line.labels.get("quantile") === text)?.value;
    return milliseconds(found ?? Number.NaN);
  };
  const samples = plain(`${TIMES}_count`);
  const [p50, p95, p99] = [quantile("0.5"), quantile("0.95"), quantile("0.99")];
  const mean = milliseconds(plain(`${TIMES}_sum`) / samples);
  const isWhole = [p50, p95, p99, mean].every((ms) => ms > 0 && Number.isFinite(ms));
  return {
    ...{ model: label("model"), task: label("task"), variant: label("variant") ?? "" },
    ...{ pool: label("pool"), bucket: label("bucket") },
    ...{ cores: label("cores"), stage: label("stage") },
    batch: Number(label("batch")),
    samples: Number.isNaN(samples) ? 0 : samples,
    // The mean is over all times and the quantiles over recent ones, so the mean may lie outside.
    ms: isWhole ? { p50, p95, p99, mean: Math.min(mean, p99) } : null,
  };
}

/** Rounded to a nanosecond, like profiles. */
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1e9) / 1e6;
}

/** Mean number of busy workers since the server's process started; null if unknown. */
export function meanBusyWorkers(text: string, nowMs: number | null): number | null {
  const values = metricValues(text);
  const started = values.find(({ name }) => name === "process_start_time_seconds")?.value;
  if (started === undefined || nowMs === null) return null;
  const upSeconds = nowMs / 1000 - started;
  const busySeconds = values
    .filter(({ name }) => name === `${TIMES}_sum`)
    .reduce((sum, { value }) => sum + value, 0);
  return upSeconds > 1 ? busySeconds / upSeconds : null;
}

/**
 * Interpolates the contention curve of a profile at a mean number of busy workers.
 * @param contention service times with 1, 2, … workers busy, relative to one.
 * @param busyWorkers mean over time. @param workers total number.
 */
export function stretchAt(
  contention: readonly number[],
  busyWorkers: number,
  workers: number,
): number {
  // A computing worker contends with itself, and with each other worker while that one is busy.
  const others = workers <= 1 ? 0 : (busyWorkers * (workers - 1)) / workers;
  const at = Math.min(others, contention.length - 1);
  const low = Math.floor(at);
  const lower = contention[low] ?? 1;
  const upper = contention[low + 1] ?? lower;
  return lower + (at - low) * (upper - lower);
}
