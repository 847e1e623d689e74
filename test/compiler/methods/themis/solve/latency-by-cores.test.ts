import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isUsable,
  latencyByCores,
} from "../../../../../compiler/methods/themis/solve/latency-by-cores.ts";
import type { CoreProfile, LatencyFit } from "../../../../../compiler/spec/application.ts";
import { fittedMs, type LatencyByCores } from "../../../../../runtime/bundle/schema.ts";

type RowsByCores = Readonly<Record<number, Readonly<Record<number, number>>>>;

/** Twice as fast on two cores but for 2 ms, and nowhere on the line of a fit. */
const MEASURED: RowsByCores = {
  1: { 1: 10, 2: 15, 4: 31, 8: 58 },
  2: { 1: 7, 2: 9, 4: 18, 8: 29 },
};

describe("measured rows", () => {
  const table = usable(MEASURED, null, 8, 2);

  test("are used as they are", () => {
    expect(table.ms.shape).toEqual([2, 8]);
    for (const [cores, rows] of Object.entries(MEASURED)) {
      for (const [batch, ms] of Object.entries(rows)) {
        expect(msOf(table, Number(batch), Number(cores))).toBe(ms);
      }
    }
  });

  test("are linear between batches", () => {
    expect(msOf(table, 3, 1)).toBe(23);
    expect(msOf(table, 6, 2)).toBe(23.5);
  });

  test("come with the fit beside them, and the points that it is of", () => {
    expect(table.points.shape).toEqual([8, 3]);
    expect(Array.from(table.points.data.subarray(0, 6))).toEqual([1, 1, 10, 2, 1, 15]);
    const { fit } = table;
    if (fit === null) throw new RangeError("eight points have a fit");
    expect(fittedMs(fit, 4, 1)).toBeGreaterThan(25);
    expect(fittedMs(fit, 4, 1)).not.toBe(31);
  });

  test("are not extended to batches or cores beyond them", () => {
    expect(usable(MEASURED, null, 16, 16).ms.shape).toEqual([2, 8]);
    expect(usable(MEASURED, null, 4, 1).ms.shape).toEqual([1, 4]);
    expect(usable(MEASURED, null, 4, 1).points.shape).toEqual([3, 3]);
  });

  test("of a fit that was given keep their say, and the fit is not made anew", () => {
    const fit = { gamma: 5, epsilon: 1, delta: 2, eta: 3 };
    const given = usable(MEASURED, fit, 8, 2);
    expect(given.fit).toEqual(fit);
    expect(msOf(given, 4, 1)).toBe(31);
  });

  test("below the smallest batch take as long as that, and beyond the last in proportion", () => {
    const uneven = usable({ 1: { 2: 12, 4: 20 }, 2: { 1: 6, 8: 40 } }, null, 8, 2);
    expect([1, 2, 3, 4, 6, 8].map((batch) => msOf(uneven, batch, 1))).toEqual([
      12, 12, 16, 20, 30, 40,
    ]);
  });
});

describe("cores between those that were measured", () => {
  const model = { gamma: 40, epsilon: 6, delta: 3, eta: 5 };
  const rowsOn = (cores: number) =>
    Object.fromEntries([1, 2, 4, 8].map((batch) => [batch, fittedMs(model, batch, cores)]));

  test("are fitted", () => {
    const table = usable({ 1: rowsOn(1), 4: rowsOn(4) }, null, 8, 4);
    for (let batch = 1; batch <= 8; batch++) {
      expect(msOf(table, batch, 3)).toBeCloseTo(fittedMs(model, batch, 3), 9);
    }
  });

  test("take as long as the next fewer where points leave the fit open", () => {
    const table = usable({ 1: { 1: 10 }, 4: { 1: 4 } }, null, 1, 4);
    expect(table.fit).toBeNull();
    expect(Array.from(table.ms.data)).toEqual([10, 10, 10, 4]);
  });
});

test("latencies are above 0 and do not fall with the batch, whatever was measured", () => {
  const rows = fc.dictionary(
    fc.constantFrom("1", "2", "3", "5", "8"),
    fc.double({ min: 0.01, max: 300, noNaN: true }),
    { minKeys: 1 },
  );
  const byCores = fc.record({ 1: rows, 3: rows }).map((found) => found as RowsByCores);
  fc.assert(
    fc.property(byCores, (found) => {
      const table = usable(found, null, 16, 8);
      const [maxCores = 0, maxBatch = 0] = table.ms.shape;
      expect(maxCores).toBe(3);
      for (let cores = 1; cores <= maxCores; cores++) {
        let before = 0;
        for (let batch = 1; batch <= maxBatch; batch++) {
          const ms = msOf(table, batch, cores);
          expect(ms).toBeGreaterThan(0);
          expect(ms).toBeGreaterThanOrEqual(before);
          before = ms;
        }
      }
    }),
  );
});

describe("a fit without rows", () => {
  test("is taken at its word up to both limits", () => {
    const fit = { gamma: 148.8, epsilon: 5.4, delta: 37.5, eta: -15.5 };
    const table = usable(null, fit, 16, 12);
    expect(table.ms.shape).toEqual([12, 16]);
    expect(table.points.shape).toEqual([0, 3]);
    expect(msOf(table, 1, 1)).toBe(fittedMs(fit, 1, 1));
    expect(msOf(table, 16, 12)).toBe(fittedMs(fit, 16, 12));
  });

  test("is refused where a latency is not above 0, with the cell", () => {
    const fit = { gamma: 20, epsilon: 0, delta: 0, eta: -4 };
    expect(latencyByCores({ fit, byCores: null }, 8, 4)).toMatchObject({ ms: expect.anything() });
    expect(latencyByCores({ fit, byCores: null }, 8, 6)).toEqual({
      found: "a fit with -0.667 ms for a batch of 1 on 6 cores",
      allowed:
        "latencies above 0 that do not fall with the batch, " +
        "up to batch 8 and 6 cores (policy.maxBatch, policy.maxCores)",
    });
  });

  test("is refused where latencies fall with the batch, with the cell", () => {
    const fit = { gamma: 1, epsilon: 0, delta: -2, eta: 30 };
    expect(latencyByCores({ fit, byCores: null }, 8, 4)).toMatchObject({
      found: "a fit with 22 ms for a batch of 8 on 1 core",
    });
  });
});

test("refuses rows that have none for one core, and a profile with neither rows nor fit", () => {
  expect(
    latencyByCores({ fit: null, byCores: profileOf({ 2: { 1: 5 }, 4: { 1: 3 } }) }, 8, 4),
  ).toEqual({
    found: "byCores measured on 2, 4 cores",
    allowed: "rows for 1 core among them, since plans start with one",
  });
  expect(latencyByCores({ fit: null, byCores: null }, 8, 4)).toEqual({
    found: "neither fit nor byCores",
    allowed: "one of them, since latencies are needed for any number of cores",
  });
});

function profileOf(rowsByCores: RowsByCores): CoreProfile[] {
  return Object.entries(rowsByCores).map(([cores, rows]) => ({
    cores: Number(cores),
    rows: Object.entries(rows).map(([batch, latencyMs]) => {
      return { batch: Number(batch), latencyMs, quantiles: null };
    }),
  }));
}

function usable(
  rows: RowsByCores | null,
  fit: LatencyFit | null,
  maxBatch: number,
  maxCores: number,
): LatencyByCores {
  const byCores = rows === null ? null : profileOf(rows);
  const latency = latencyByCores({ fit, byCores }, maxBatch, maxCores);
  if (!isUsable(latency)) throw new RangeError(latency.found);
  return latency;
}

function msOf({ ms }: LatencyByCores, batch: number, cores: number): number {
  const [, maxBatch = 0] = ms.shape;
  return ms.data[(cores - 1) * maxBatch + batch - 1] ?? Number.NaN;
}
