/** Encodes the server's metrics, the same as for Prometheus, as an OTLP message. */
import type { Family, Labels, Sample } from "../../../base/exposition.ts";
import { attributesOf, unixNano } from "./otlp-values.ts";

/** Aggregation temporality: sums count from the start of the server. */
const CUMULATIVE = 2;

interface MetricTimes {
  readonly startEpochMs: number;
  readonly epochMs: number;
}

/** @returns metrics of one scope; gauges without a value have no point. */
export function metricsOf(families: readonly Family[], times: MetricTimes): object[] {
  return families.flatMap((family) => {
    const { name, help } = family;
    const unit = unitOf(name);
    return [{ name, description: help, unit, ...dataOf(family, times) }];
  });
}

function dataOf(family: Family, times: MetricTimes): object {
  const { type, samples } = family;
  if (type === "histogram") {
    return { histogram: { dataPoints: histogramPoints(family, times), ...temporality } };
  }
  const dataPoints = points(samples, times);
  if (type === "gauge") return { gauge: { dataPoints } };
  return { sum: { dataPoints, isMonotonic: true, ...temporality } };
}

const temporality = { aggregationTemporality: CUMULATIVE };

/** Unit in UCUM, derived from the suffix of the metric's name. */
function unitOf(name: string): string {
  if (/_seconds(_total)?$/.test(name)) return "s";
  if (/_ms$/.test(name)) return "ms";
  if (/_us$/.test(name)) return "us";
  if (/_bytes(_total|_limit)?$/.test(name)) return "By";
  return "1";
}

function points(samples: readonly Sample[], times: MetricTimes): object[] {
  return samples
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...pointOf(labels, times), asDouble: value }));
}

function pointOf(labels: Labels, { startEpochMs, epochMs }: MetricTimes) {
  return {
    attributes: attributesOf(labels),
    startTimeUnixNano: unixNano(startEpochMs),
    timeUnixNano: unixNano(epochMs),
  };
}

interface Gathered {
  readonly labels: Labels;
  /** Cumulative counts with their upper bounds. */
  readonly buckets: (readonly [bound: number, count: number])[];
  sum: number;
  count: number;
}

/** Converts cumulative buckets into counts between bounds; OTLP has whole counts only. */
function histogramPoints({ name, samples }: Family, times: MetricTimes): object[] {
  const byLabels = new Map<string, Gathered>();
  for (const { name: own, labels, value } of samples) {
    const { le, ...rest } = labels;
    const key = JSON.stringify(rest);
    const gathered = byLabels.get(key) ?? { labels: rest, buckets: [], sum: 0, count: 0 };
    byLabels.set(key, gathered);
    if (own === `${name}_sum`) gathered.sum = value;
    else if (own === `${name}_count`) gathered.count = value;
    else gathered.buckets.push([le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le), value]);
  }
  return [...byLabels.values()].map(({ labels, buckets, sum, count }) => ({
    ...pointOf(labels, times),
    count: String(Math.round(count)),
    sum,
    explicitBounds: buckets.map(([bound]) => bound).filter(Number.isFinite),
    bucketCounts: buckets.map(([, below], index) => {
      return String(Math.round(below) - Math.round(buckets[index - 1]?.[1] ?? 0));
    }),
  }));
}
