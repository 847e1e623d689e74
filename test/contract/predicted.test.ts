/** Measured and predicted histograms of every method: the same bounds, the same batches. */
import { describe, expect, test } from "vitest";
import { familiesOf, type Sample } from "../../runtime/base/exposition.ts";
import type { Bundle, Level } from "../../runtime/bundle/schema.ts";
import { toldMetrics } from "../support/told-metrics.ts";
import { BY_METHOD } from "./subjects.ts";

/** Bounds of each series of a histogram, and its count, by labels but for `figure` and `phase`. */
function seriesOf(samples: readonly Sample[], selected?: string) {
  const bounds = new Map<string, string[]>();
  const counts = new Map<string, number>();
  for (const { name, labels, value } of samples) {
    const { le, figure, phase = figure, ...rest } = labels;
    if (phase !== selected) continue;
    const key = JSON.stringify(Object.entries(rest).sort());
    if (le !== undefined) bounds.set(key, [...(bounds.get(key) ?? []), le]);
    else if (name.endsWith("_count")) counts.set(key, value);
  }
  return { bounds, counts };
}

/** Of an edition that promises times; those of the subjects promise no queue times. */
function promising(bundle: Bundle): Bundle {
  const latencyMs = { p50: 10, p99: 30, max: 40 };
  const times = { latencyMs, queueMs: { p50: 0, p99: 20, max: 25 } };
  const levels = (bundle.levels as readonly Level[]).map((level) => {
    if ("expected" in level) return { ...level, expected: { ...level.expected, ...times } };
    const expected = { ...level.steady.expected, ...times };
    return { ...level, steady: { ...level.steady, expected } };
  });
  return { ...bundle, levels } as Bundle;
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
      [of("stratagem_request_phase_seconds", "queue"), "queue"],
    ] as const) {
      const predicted = of("stratagem_expected_seconds", figure);
      expect(predicted.bounds).toEqual(measured.bounds);
      expect(measured.counts.size).toBeGreaterThan(0);
      for (const bounds of predicted.bounds.values()) expect(bounds).toContain(slo);
      expect(predicted.counts).toEqual(measured.counts);
    }
    const compute = of("stratagem_request_phase_seconds", "compute");
    for (const bounds of compute.bounds.values()) expect(bounds).toContain(slo);
  });

  test("predicts no queue time for a bundle that promises none", async () => {
    const { lines } = await toldMetrics([served]);
    const samples = familiesOf(lines).flatMap((family) => family.samples);
    const queue = seriesOf(
      samples.filter(({ name }) => name.startsWith("stratagem_expected_seconds")),
      "queue",
    );
    expect([...queue.counts.values()].every((count) => count === 0)).toBe(true);
  });
});
