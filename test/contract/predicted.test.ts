/** Measured and predicted histograms of every method: the same bounds, the same batches. */
import { describe, expect, test } from "vitest";
import { familiesOf, type Sample } from "../../runtime/base/exposition.ts";
import type { Bundle } from "../../runtime/bundle/schema.ts";
import { toldMetrics } from "../support/told-metrics.ts";
import { BY_METHOD } from "./subjects.ts";

/** Bounds of each series of a histogram, and its count, by labels but for `figure`. */
function seriesOf(samples: readonly Sample[], figure?: string) {
  const bounds = new Map<string, string[]>();
  const counts = new Map<string, number>();
  for (const { name, labels, value } of samples) {
    const { le, figure: own, ...rest } = labels;
    if (own !== figure) continue;
    const key = JSON.stringify(Object.entries(rest).sort());
    if (le !== undefined) bounds.set(key, [...(bounds.get(key) ?? []), le]);
    else if (name.endsWith("_count")) counts.set(key, value);
  }
  return { bounds, counts };
}

/** The subject of RAMSIS is of an edition that promised no latencies. */
function promising(bundle: Bundle): Bundle {
  if (bundle.method !== "ramsis") return bundle;
  const latencyMs = { p50: 10, p95: 20, p99: 30, max: 40 };
  const levels = bundle.levels.map((level) => {
    return { ...level, expected: { ...level.expected, latencyMs } };
  });
  return { ...bundle, levels };
}

describe.each(BY_METHOD)("%s", (_, { served }) => {
  test("predicts what it measures, in buckets that can be added", async () => {
    const { lines, text } = await toldMetrics([{ ...served, bundle: promising(served.bundle) }]);
    expect(text).not.toMatch(/quantile="/);
    expect(text).not.toMatch(/^# TYPE \S+ summary/m);
    const families = new Map(familiesOf(lines).map((family) => [family.name, family.samples]));
    const of = (name: string, figure?: string) => seriesOf(families.get(name) ?? [], figure);
    const slo = String(served.bundle.slo.latencyMs / 1000);
    for (const [measured, figure] of [
      [of("stratagem_service_time_seconds"), "service_time"],
      [of("stratagem_request_duration_seconds"), "latency"],
    ] as const) {
      const predicted = of("stratagem_expected_seconds", figure);
      expect(predicted.bounds).toEqual(measured.bounds);
      expect(measured.counts.size).toBeGreaterThan(0);
      for (const bounds of predicted.bounds.values()) expect(bounds).toContain(slo);
      expect(predicted.counts).toEqual(measured.counts);
    }
    const phase = of("stratagem_request_phase_seconds");
    for (const bounds of phase.bounds.values()) expect(bounds).toContain(slo);
  });
});
