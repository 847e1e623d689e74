import { expect, test } from "vitest";
import { tuningLooks } from "../../../../../../compiler/methods/ramsis/simulate/peers/tuning-looks.ts";

test("counts a fixed number of queries of a steady load, without the first", () => {
  const arrivals = { kind: "gamma", qps: 200, cv2: 4 } as const;
  expect(tuningLooks({ arrivals, durationMs: 1 }, 100)).toEqual([
    { arrivals, durationMs: 76_100, counted: { fromMs: 1000, untilMs: 76_000 } },
    { arrivals, durationMs: 301_100, counted: { fromMs: 1000, untilMs: 301_000 } },
  ]);
  const fast = { kind: "poisson", qps: 100_000 } as const;
  expect(tuningLooks({ arrivals: fast, durationMs: 1 }, 100)).toEqual([
    { arrivals: fast, durationMs: 1600, counted: { fromMs: 1000, untilMs: 1500 } },
    { arrivals: fast, durationMs: 3100, counted: { fromMs: 1000, untilMs: 3000 } },
  ]);
});

test("samples a long trace first at a higher speed, then at its own", () => {
  const trace = {
    kind: "rates",
    startMs: Float64Array.of(0, 100_000),
    qps: Float64Array.of(1000, 3000),
    endMs: 400_000,
  } as const;
  const [first, second] = tuningLooks(
    { arrivals: { kind: "trace", trace }, durationMs: 200_000 },
    100,
  );
  // In 200 s there are 400,000 queries.
  expect(first).toEqual({
    arrivals: {
      kind: "trace",
      trace: { ...trace, startMs: Float64Array.of(0, 25_000), endMs: 100_000 },
    },
    durationMs: 50_000,
  });
  expect(second).toEqual({ arrivals: { kind: "trace", trace }, durationMs: 200_000 });
});

test("recorded arrivals become rates, second by second", () => {
  const trace = { kind: "arrivals", arrivalMs: Float64Array.of(0, 10, 999, 2500) } as const;
  const [first] = tuningLooks({ arrivals: { kind: "trace", trace }, durationMs: 2500 }, 100);
  expect(first.arrivals).toEqual({
    kind: "trace",
    trace: {
      kind: "rates",
      startMs: Float64Array.of(0, 1000, 2000),
      qps: Float64Array.of(3, 0, 1),
      endMs: 3000,
    },
  });
});
