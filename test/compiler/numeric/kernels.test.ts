import fc from "fast-check";
import { expect, test } from "vitest";
import { convolutionTerm } from "../../../compiler/numeric/convolution.ts";
import { multiplyColumns, multiplyRows } from "../../../compiler/numeric/csr.ts";
import { phaseWeights, poissonProbability } from "../../../compiler/numeric/poisson.ts";

const matrices = fc
  .tuple(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 7 }))
  .chain(([rows, columns]) =>
    fc.record({
      dense: fc.array(
        fc.array(fc.oneof(fc.constant(0), fc.integer({ min: -9, max: 9 })), {
          minLength: columns,
          maxLength: columns,
        }),
        { minLength: rows, maxLength: rows },
      ),
      x: fc.array(fc.integer({ min: -9, max: 9 }), { minLength: columns, maxLength: columns }),
      y: fc.array(fc.integer({ min: -9, max: 9 }), { minLength: rows, maxLength: rows }),
    }),
  );

function compress(dense: readonly (readonly number[])[]) {
  const start = [0];
  const column: number[] = [];
  const value: number[] = [];
  for (const row of dense) {
    row.forEach((entry, index) => {
      if (entry === 0) return;
      column.push(index);
      value.push(entry);
    });
    start.push(column.length);
  }
  return [Uint32Array.from(start), Uint32Array.from(column), Float64Array.from(value)] as const;
}

test("sparse products equal dense ones", () => {
  fc.assert(
    fc.property(matrices, ({ dense, x, y }) => {
      const rows = new Float64Array(dense.length);
      multiplyRows(dense.length, ...compress(dense), Float64Array.from(x), rows);
      expect([...rows]).toEqual(
        dense.map((row) => row.reduce((sum, entry, c) => sum + entry * (x[c] ?? 0), 0)),
      );
      const columns = new Float64Array(x.length).fill(99);
      multiplyColumns(dense.length, ...compress(dense), Float64Array.from(y), columns);
      expect([...columns].map((sum) => sum + 0)).toEqual(
        x.map((_, c) => dense.reduce((sum, row, r) => sum + (row[c] ?? 0) * (y[r] ?? 0), 0)),
      );
    }),
    { seed: 11 },
  );
});

test("a convolution term reads one array forward and the other backward by its stride", () => {
  const x = Float64Array.of(9, 1, 2, 3);
  const y = Float64Array.of(100, 9, 10, 9, 1, 9);
  expect(convolutionTerm(3, x, 1, y, 4, 2)).toBe(1 * 1 + 2 * 10 + 3 * 100);
});

test("phase weights are the normalised Poisson probabilities of their counts", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 40 }),
      fc.double({ min: 0.01, max: 60, noNaN: true }),
      fc.integer({ min: 1, max: 12 }),
      (base, mean, count) => {
        const weight = new Float64Array(count);
        phaseWeights(base, mean, weight);
        const raw = Array.from({ length: count }, (_, q) => poissonProbability(base + q, mean));
        const total = raw.reduce((a, b) => a + b, 0);
        for (const [q, p] of raw.entries()) expect(weight[q]).toBeCloseTo(p / total, 12);
      },
    ),
    { seed: 12 },
  );
});

test("phase weights stay finite where every probability underflows", () => {
  const far = new Float64Array(60);
  phaseWeights(60 * 32, 3, far);
  expect(far.reduce((a, b) => a + b, 0)).toBeCloseTo(1, 12);
  expect(far[0]).toBeGreaterThan(0.99);
  const none = new Float64Array(4);
  phaseWeights(8, 0, none);
  expect([...none]).toEqual([1, 0, 0, 0]);
});
