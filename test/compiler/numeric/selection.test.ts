import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { selectRank } from "../../../compiler/numeric/selection.ts";

describe("selectRank", () => {
  it("finds what sorting puts at the rank, and parts the range around it", () => {
    const cases = fc
      .array(fc.oneof(fc.nat(5), fc.double({ noNaN: true })), { minLength: 1, maxLength: 200 })
      .chain((entries) => fc.tuple(fc.constant(entries), fc.nat(entries.length - 1)));
    fc.assert(
      fc.property(cases, ([entries, rank]) => {
        const values = Float64Array.from(entries);
        const sorted = Float64Array.from(entries).sort();
        // Zeros of either sign are one number here, two to sort.
        expect(selectRank(values, 0, values.length, rank) + 0).toBe((sorted[rank] ?? 0) + 0);
        expect(Math.max(...values.subarray(0, rank + 1)) + 0).toBe((sorted[rank] ?? 0) + 0);
        expect(Math.min(...values.subarray(rank)) + 0).toBe((sorted[rank] ?? 0) + 0);
      }),
    );
  });

  it("leaves what is outside the range alone", () => {
    const values = Float64Array.of(9, 5, 4, 3, 0);
    expect(selectRank(values, 1, 4, 2)).toBe(4);
    expect([values[0], values[4]]).toEqual([9, 0]);
  });

  it("is right, and done, on an input made to defeat the pivot", () => {
    // Musser's sequence for the middle of three: every partition takes two entries off.
    const half = 2000;
    const values = new Float64Array(2 * half);
    for (let i = 1; i <= half; i++) {
      values[i - 1] = i % 2 === 1 ? i : half + i - 1;
      values[half + i - 1] = 2 * i;
    }
    expect(selectRank(values, 0, values.length, half)).toBe(half + 1);
  });
});
