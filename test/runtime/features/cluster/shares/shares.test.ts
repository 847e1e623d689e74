import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ShareableWorker,
  shares,
} from "../../../../../runtime/features/cluster/shares/shares.ts";
import { casesOf } from "../../../../support/cases.ts";

const END = fc.constantFrom("a", "b", "c", "d", "e");
const WORKERS = fc.uniqueArray(
  fc.record({
    name: fc.integer({ min: 0, max: 40 }).map((number) => `w${number}`),
    pool: fc.constantFrom("cpu", "gpu"),
    holder: fc.option(END),
  }),
  { selector: ({ name }) => name, maxLength: 14 },
);
const ENDS = fc.uniqueArray(END, { minLength: 1 });

function countsOf(ends: readonly string[], assigned: Iterable<string>): number[] {
  const all = [...assigned];
  return ends.map((end) => all.filter((one) => one === end).length);
}

function spread(counts: readonly number[]): number {
  return Math.max(...counts) - Math.min(...counts);
}

/** Workers that stay, if every front end has a quota of those that differ by one at most. */
function mostStaying(ends: readonly string[], workers: readonly ShareableWorker[]): number {
  const each = Math.floor(workers.length / ends.length);
  const left = workers.length % ends.length;
  const held = countsOf(
    ends,
    workers.map(({ holder }) => holder ?? ""),
  );
  let most = 0;
  for (let chosen = 0; chosen < 2 ** ends.length; chosen++) {
    const extra = ends.map((_, end) => (chosen >> end) & 1);
    if (extra.reduce((sum, one) => sum + one, 0) !== left) continue;
    const staying = held.map((count, end) => Math.min(count, each + (extra[end] ?? 0)));
    most = Math.max(
      most,
      staying.reduce((sum, one) => sum + one, 0),
    );
  }
  return most;
}

describe("shares", () => {
  test("differ by one worker at most, in each pool and over all", () => {
    fc.assert(
      fc.property(ENDS, WORKERS, (ends, workers) => {
        const assignment = shares(ends, workers);
        expect(assignment.size).toBe(workers.length);
        expect(spread(countsOf(ends, assignment.values()))).toBeLessThanOrEqual(1);
        for (const pool of ["cpu", "gpu"]) {
          const own = workers.filter((worker) => worker.pool === pool);
          const assigned = own.map(({ name }) => assignment.get(name) ?? "");
          expect(spread(countsOf(ends, assigned))).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: casesOf(1000) },
    );
  });

  test("keep as many workers of a pool in place as any even division allows", () => {
    fc.assert(
      fc.property(ENDS, WORKERS, (ends, mixed) => {
        const workers = mixed.map((worker) => ({ ...worker, pool: "cpu" }));
        const assignment = shares(ends, workers);
        const stayed = workers.filter(({ name, holder }) => assignment.get(name) === holder);
        expect(stayed.length).toBe(mostStaying(ends, workers));
      }),
      { numRuns: casesOf(1000) },
    );
  });

  test("do not change once they are held, and do not depend on the order of arguments", () => {
    fc.assert(
      fc.property(ENDS, WORKERS, (ends, workers) => {
        const assignment = shares(ends, workers);
        const held = workers.map((worker) => ({
          ...worker,
          holder: assignment.get(worker.name) ?? null,
        }));
        expect(shares(ends, held)).toEqual(assignment);
        expect(shares(ends.toReversed(), workers.toReversed())).toEqual(assignment);
      }),
      { numRuns: casesOf(1000) },
    );
  });

  test("are empty without front ends", () => {
    expect(shares([], [{ name: "w", pool: "cpu", holder: "a" }]).size).toBe(0);
  });
});
