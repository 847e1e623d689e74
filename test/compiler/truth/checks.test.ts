import { expect, test } from "vitest";
import { checksOf, type Judged, verdictOf } from "../../../compiler/truth/checks.ts";
import { outcomeOf } from "../../../compiler/truth/request-times.ts";
import type { Check, MeasuredOutcome, Outcome } from "../../../compiler/truth/truth-document.ts";
import { MEASURED, PREDICTED } from "./truth-sample.ts";

const PROMISED = { violationRate: 0.001, accuracy: 0.97 };

function judged(
  measured: Partial<MeasuredOutcome>,
  predicted: Partial<Outcome> = {},
  promised: Judged["promised"] = PROMISED,
  requests = 1e6,
): Check[] {
  return checksOf({
    promised,
    predicted: { ...PREDICTED, ...predicted },
    measured: { ...MEASURED, ...measured },
    ceiling: 0.01,
    requests,
  });
}

function broken(...given: Parameters<typeof judged>): string[] {
  return judged(...given).flatMap(({ name, holds }) => (holds ? [] : [name]));
}

test("what is measured as predicted holds", () => {
  expect(broken({})).toEqual([]);
});

test("latencies hold within 20 % or 2 ms, whichever is more, to either side", () => {
  expect(broken({ p50Ms: 12, p99Ms: 60 })).toEqual([]);
  expect(broken({ p50Ms: 8, p99Ms: 40 })).toEqual([]);
  expect(broken({ p50Ms: 12.01 })).toEqual(["p50"]);
  expect(broken({ p99Ms: 39.9 })).toEqual(["p99"]);
  expect(broken({ p50Ms: 2.9 }, { p50Ms: 1 })).toEqual([]);
});

test("violations hold within half a point of the simulation", () => {
  expect(broken({ violationRate: 0.006 })).toEqual([]);
  expect(broken({ violationRate: 0.0062 })).toEqual(["violations"]);
});

test("violations of few requests hold where their interval is within half a point", () => {
  const ofFew = (late: number, of: number) => {
    return judged({ violationRate: late / of }, { violationRate: 0 }, PROMISED, of);
  };
  // By chance one of 150 is late: 0.67 %.
  expect(verdictOf(ofFew(1, 150))).toBe("holds");
  expect(verdictOf(ofFew(100, 15_000))).toBe("broken");
  expect(verdictOf(ofFew(7, 21))).toBe("broken");
});

test("a level that promises less than half of the ceiling keeps it", () => {
  const measured = { violationRate: 0.0112 };
  const predicted = { violationRate: 0.0064 };
  expect(broken(measured, predicted)).toEqual(["violations"]);
  expect(broken(measured, predicted, { ...PROMISED, violationRate: 0.006 })).toEqual([]);
});

test("accuracy holds within 0.2 points, and is not checked if unknown", () => {
  expect(broken({ accuracy: 0.9719 })).toEqual([]);
  expect(broken({ accuracy: 0.9679 })).toEqual(["accuracy"]);
  expect(broken({ accuracy: null })).toEqual([]);
});

test("accuracy of a run may be that of any draw of the prediction", () => {
  const drawn = { accuracyRange: [0.94, 0.98] } as const;
  expect(broken({ accuracy: 0.9381 }, drawn)).toEqual([]);
  expect(verdictOf(judged({ accuracy: 0.9379 }, drawn))).toBe("broken");
  expect(verdictOf(judged({ accuracy: 0.9821 }, drawn))).toBe("better");
});

test("labels are judged by what chance explains", () => {
  const labels = { estimate: 0.96, lower: 0.9685, upper: 0.98, asked: 1000 };
  expect(broken({ accuracyByLabels: labels })).toEqual([]);
  const worse = { ...labels, lower: 0.94, upper: 0.967 };
  expect(broken({ accuracyByLabels: worse })).toEqual(["labels"]);
});

test("a miss on the right side is better, one of latency on the other is slower", () => {
  const verdict = (...given: Parameters<typeof judged>) => verdictOf(judged(...given));
  expect(verdict({})).toBe("holds");
  expect(verdict({ p50Ms: 3, p99Ms: 9, accuracy: 0.99 })).toBe("better");
  expect(verdict({ violationRate: 0 }, { violationRate: 0.02 })).toBe("better");
  expect(verdict({ p50Ms: 3, p99Ms: 61 })).toBe("slower");
  expect(verdict({ p50Ms: 3, accuracy: 0.96 })).toBe("broken");
  expect(verdict({ violationRate: 0.03 }, { violationRate: 0.02 })).toBe("broken");
  const labels = { estimate: 0.99, lower: 0.98, upper: 1, asked: 1000 };
  expect(verdict({ accuracyByLabels: labels })).toBe("better");
  // Fewer than was simulated are late, and yet more than a level may be that promises none.
  const close = { violationRate: 0.011 };
  expect(verdict(close, { violationRate: 0.0111 })).toBe("broken");
});

test("without an answer no latency holds", () => {
  expect(broken({ p50Ms: null, p99Ms: null })).toEqual(["p50", "p99"]);
  expect(verdictOf(judged({ p50Ms: null }))).toBe("broken");
});

/** Requests of 8 to 12 ms, of which some took 40 ms, and 1.25 % took 90 ms. */
function withStragglers(count: number): Partial<MeasuredOutcome> {
  const latencyMs = Float64Array.from({ length: count }, (_, at) => {
    if (at % 80 === 40) return 90;
    return at % 20 === 3 ? 40 : 8 + ((at * 37) % 40) / 10;
  });
  return { ...outcomeOf(latencyMs, 100, null, count), accuracy: 0.97, violationRate: 0.001 };
}

test("a p99 that is a straggler of few requests holds, and that of many is slower", () => {
  const [few, many] = [withStragglers(240), withStragglers(5000)];
  expect([few.p99Ms, many.p99Ms]).toEqual([90, 90]);
  expect(verdictOf(judged(few))).toBe("holds");
  expect(many).not.toHaveProperty("intervalsMs");
  expect(verdictOf(judged(many))).toBe("slower");
});

test("few requests are slower where even the favourable end of their interval is", () => {
  const slow = outcomeOf(new Float64Array(240).fill(90), 100, null, 240);
  expect(slow.intervalsMs).toEqual({ p50: [90, 90], p95: [90, 90], p99: [90, null] });
  expect(broken({ ...slow, accuracy: 0.97, violationRate: 0.001 })).toEqual(["p50", "p99"]);
});

test("a slow stretch that was not predicted does not widen the intervals", () => {
  const predictedMs = Float64Array.from({ length: 600 }, (_, at) => 8 + ((at * 7919) % 1009) / 252);
  const measuredMs = predictedMs.map((ms, at) => (at >= 240 ? 90 : ms));
  const rest = { accuracy: 0.97, violationRate: 0.001 };
  const found = outcomeOf(measuredMs, 100, null, 600, predictedMs);
  expect(broken({ ...found, ...rest })).toEqual(["p50", "p99"]);
  // By its own correlation the run would be worth too few draws for a median.
  expect(broken({ ...outcomeOf(measuredMs, 100, null, 600), ...rest })).not.toContain("p50");
});

test("a prediction of few batches is compared with its own interval", () => {
  const intervalsMs = { p50: [8, 13], p95: [15, 30], p99: [40, 70] } as const;
  expect(broken({ p99Ms: 75 }, { intervalsMs })).toEqual([]);
  expect(broken({ p99Ms: 81 }, { intervalsMs })).toEqual(["p99"]);
  // An open end bounds nothing.
  const open = { ...intervalsMs, p99: [40, null] } as const;
  expect(broken({ p99Ms: 500 }, { intervalsMs: open })).toEqual([]);
  expect(broken({ p99Ms: 5, intervalsMs: open })).toEqual([]);
});
