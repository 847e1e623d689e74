import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import {
  fitLatency,
  type LatencyPoint,
  worstCell,
} from "../../../../../compiler/methods/themis/solve/latency-fit.ts";
import { fittedMs, type LatencyFit } from "../../../../../runtime/bundle/schema.ts";
import { REFERENCE, readThemis } from "../../../../support/themis-reference.ts";

const BATCHES = [1, 2, 4, 8];
const CORES = [1, 2, 4];

/** Points of a grid. */
function pointsOf(msOf: (batch: number, cores: number) => number): LatencyPoint[] {
  return CORES.flatMap((cores) =>
    BATCHES.map((batch) => ({ batch, cores, ms: msOf(batch, cores) })),
  );
}

const coefficient = fc.double({ min: 0, max: 200, noNaN: true });

describe("without noise", () => {
  test("is the model that the points are of", () => {
    fc.assert(
      fc.property(coefficient, coefficient, coefficient, coefficient, (a, b, c, d) => {
        const model = { gamma: a, epsilon: b, delta: c, eta: d + 0.5 };
        const fit = fitted(pointsOf((batch, cores) => fittedMs(model, batch, cores)));
        const scale = fittedMs(model, 8, 1);
        for (const term of ["gamma", "epsilon", "delta", "eta"] as const) {
          expect(Math.abs(fit[term] - model[term]) / scale).toBeLessThan(1e-9);
        }
      }),
    );
  });

  test("is that model too where a coefficient of it is negative and no latency is", () => {
    const model = { gamma: 148.8, epsilon: 5.4, delta: 37.5, eta: -15.5 };
    const fit = fitted(pointsOf((batch, cores) => fittedMs(model, batch, cores)));
    expect(fit.eta).toBeCloseTo(-15.5, 9);
    expect(fit.gamma).toBeCloseTo(148.8, 9);
  });
});

describe("of points whose best line is below 0 at a batch that was not measured", () => {
  const steep = pointsOf((batch, cores) => (batch * batch) / cores).filter(
    ({ batch }) => batch > 1,
  );
  const { gamma, epsilon, delta, eta } = fitted(steep);

  test("has no negative coefficient and no latency that is not above 0", () => {
    expect(Math.min(gamma, epsilon, delta, eta)).toBe(0);
    expect(worstCell({ gamma, epsilon, delta, eta }, 8, 4)).toBeNull();
  });

  test("no other coefficients above 0 have less of a relative error", () => {
    const best = squaredError({ gamma, epsilon, delta, eta }, steep);
    const nudges = [-0.01, 0, 0.01];
    for (const a of nudges) {
      for (const b of nudges) {
        for (const c of nudges) {
          for (const d of nudges) {
            const other = {
              gamma: gamma + a,
              epsilon: epsilon + b,
              delta: delta + c,
              eta: eta + d,
            };
            if (Math.min(other.gamma, other.epsilon, other.delta, other.eta) < 0) continue;
            // The error is convex in the coefficients, so what is best nearby is best.
            expect(squaredError(other, steep)).toBeGreaterThanOrEqual(best * (1 - 1e-12));
          }
        }
      }
    }
  });
});

test("gives latencies above 0 that do not fall with the batch, however wild the points", () => {
  const noise = fc.array(fc.double({ min: 0.2, max: 5, noNaN: true }), {
    minLength: 12,
    maxLength: 12,
  });
  let corrected = 0;
  fc.assert(
    fc.property(noise, (factors) => {
      let at = 0;
      const fit = fitted(
        pointsOf((batch, cores) => ((10 * batch) / cores + 5) * (factors[at++] ?? 1)),
      );
      for (let cores = 1; cores <= 4; cores++) {
        for (let batch = 1; batch <= 8; batch++) {
          expect(fittedMs(fit, batch, cores)).toBeGreaterThan(0);
          if (batch === 1) continue;
          const before = fittedMs(fit, batch - 1, cores);
          expect(fittedMs(fit, batch, cores)).toBeGreaterThanOrEqual(before * (1 - 1e-9));
        }
      }
      if (Object.values(fit).includes(0)) corrected++;
    }),
    { seed: 7, numRuns: 200 },
  );
  expect(corrected).toBeGreaterThan(20);
});

test("is refused for points that leave terms open: too few, one batch, one cores", () => {
  const all = pointsOf((batch, cores) => 1 + (10 * batch) / cores);
  expect(fitLatency(all.slice(0, 3), 8, 4)).toBeNull();
  expect(fitLatency([], 8, 4)).toBeNull();
  expect(
    fitLatency(
      all.filter(({ batch }) => batch === 2),
      8,
      4,
    ),
  ).toBeNull();
  expect(
    fitLatency(
      all.filter(({ cores }) => cores === 2),
      8,
      4,
    ),
  ).toBeNull();
  const [first] = all;
  expect(fitLatency(new Array(8).fill(first), 8, 4)).toBeNull();
  const corners = all.filter(
    ({ batch, cores }) => [1, 8].includes(batch) && [1, 4].includes(cores),
  );
  expect(fitLatency(corners, 8, 4)).not.toBeNull();
});

describe("a cell that cannot be", () => {
  it("is one at 0 or below, on one core or on the most", () => {
    expect(worstCell({ gamma: 1, epsilon: 0, delta: 1, eta: -2 }, 8, 4)).toEqual({
      batch: 1,
      cores: 1,
      ms: 0,
    });
    expect(worstCell({ gamma: 4, epsilon: 0, delta: 0, eta: -2 }, 8, 4)).toEqual({
      batch: 1,
      cores: 4,
      ms: -1,
    });
  });

  it("is one below the batch before it", () => {
    expect(worstCell({ gamma: -1, epsilon: 50, delta: 0.5, eta: 9 }, 8, 4)).toMatchObject({
      batch: 8,
      cores: 1,
    });
    expect(worstCell({ gamma: 4, epsilon: 0, delta: -2, eta: 99 }, 8, 4)).toMatchObject({
      batch: 8,
      cores: 4,
    });
  });

  it("has no fit if latencies rise with the cores, or stay constant", () => {
    expect(worstCell({ gamma: 0, epsilon: 0, delta: 0, eta: 1 }, 8, 4)).toBeNull();
    expect(worstCell({ gamma: 2, epsilon: 0, delta: -1, eta: 9 }, 8, 2)).toBeNull();
  });
});

describe.skipIf(REFERENCE === undefined)(
  "of the points that the authors measured (skipped without STRATAGEM_REFERENCE)",
  () => {
    // The authors' code fits the latencies themselves, so that the shortest are off by most.
    it.each([
      ["yolov5s", 0.14],
      ["resnet18", 0.18],
    ] as const)(
      "is off by at most a bound, and by less than a fit of absolute errors: %s",
      (name, bound) => {
        const points = measured(name);
        expect(points.length).toBeGreaterThanOrEqual(20);
        const worst = largestError(fitted(points, 16), points);
        expect(worst).toBeLessThanOrEqual(bound);
        expect(worst).toBeLessThan(largestError(absoluteFit(points), points));
      },
    );
  },
);

function fitted(points: readonly LatencyPoint[], maxCores = 4): LatencyFit {
  const fit = fitLatency(points, 8, maxCores);
  if (fit === null) throw new RangeError("the points leave terms open");
  return fit;
}

function measured(name: string): LatencyPoint[] {
  const { rawProfiles } = readThemis<{
    rawProfiles: Record<string, readonly { b: number; c: number; ms: number }[]>;
  }>("inputs.json");
  return (rawProfiles[name] ?? []).map(({ b, c, ms }) => ({ batch: b, cores: c, ms }));
}

function squaredError(fit: LatencyFit, points: readonly LatencyPoint[]): number {
  return points.reduce(
    (sum, { batch, cores, ms }) => sum + (fittedMs(fit, batch, cores) / ms - 1) ** 2,
    0,
  );
}

function largestError(fit: LatencyFit, points: readonly LatencyPoint[]): number {
  return Math.max(
    ...points.map(({ batch, cores, ms }) => Math.abs(fittedMs(fit, batch, cores) / ms - 1)),
  );
}

/** Least squares of the latencies themselves, by elimination. */
function absoluteFit(points: readonly LatencyPoint[]): LatencyFit {
  const terms = ({ batch, cores }: LatencyPoint) => [batch / cores, 1 / cores, batch, 1];
  const dot = (a: (point: LatencyPoint) => number, b: (point: LatencyPoint) => number) =>
    points.reduce((sum, point) => sum + a(point) * b(point), 0);
  const rows = [0, 1, 2, 3].map((i) => {
    const own = (point: LatencyPoint) => terms(point)[i] ?? 0;
    const normal = [0, 1, 2, 3].map((j) => dot(own, (point) => terms(point)[j] ?? 0));
    return [...normal, dot(own, ({ ms }) => ms)];
  });
  for (const [i, pivot] of rows.entries()) {
    for (const [j, row] of rows.entries()) {
      if (i === j) continue;
      const factor = (row[i] ?? 0) / (pivot[i] ?? 1);
      for (let k = 0; k < row.length; k++) row[k] = (row[k] ?? 0) - factor * (pivot[k] ?? 0);
    }
  }
  const [gamma = 0, epsilon = 0, delta = 0, eta = 0] = rows.map((row, i) => {
    return (row[4] ?? 0) / (row[i] ?? 1);
  });
  return { gamma, epsilon, delta, eta };
}
