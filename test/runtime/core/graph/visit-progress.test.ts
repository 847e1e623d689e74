import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  REQUESTS,
  type TaskGraph,
  taskGraphOf,
} from "../../../../runtime/core/graph/task-graph.ts";
import { VisitProgress } from "../../../../runtime/core/graph/visit-progress.ts";
import { inferlineBundle } from "../../../support/inferline-bundle.ts";

/** Parents by task; -1 for the requests. */
function graphOf(parents: readonly (readonly number[])[]): TaskGraph {
  const name = (task: number) => (task < 0 ? "requests" : `t${task}`);
  const bundle = inferlineBundle({
    tasks: parents.map((from, task) => ({
      name: name(task),
      from: Object.fromEntries(from.map((parent) => [name(parent), 1])),
      latencyMs: { 1: 1 },
    })),
    levels: [],
  });
  return taskGraphOf(bundle);
}

function edgesFrom(graph: TaskGraph, source: number): number[] {
  return [...graph.outEdge.subarray(graph.outStart[source + 1], graph.outStart[source + 2])];
}

function takeReady(progress: VisitProgress): number[] {
  const ready = [...progress.readyTask.subarray(0, progress.readyCount)];
  progress.clearReady();
  return ready;
}

// Entry 0 feeds 1 and 2, which both feed 3.
const DIAMOND = graphOf([[-1], [0], [0], [1, 2]]);

describe("a join", () => {
  function startDiamond(): VisitProgress {
    const progress = new VisitProgress(DIAMOND, 2);
    progress.open(1);
    progress.settle(1, 0, true);
    expect(takeReady(progress)).toEqual([0]);
    progress.serve(1, 0);
    return progress;
  }

  test("is visited when the last edge into it is settled", () => {
    const progress = startDiamond();
    for (const edge of edgesFrom(DIAMOND, 0)) progress.settle(1, edge, true);
    expect(takeReady(progress)).toEqual([1, 2]);
    progress.serve(1, 2);
    progress.settle(1, 4, true);
    expect(takeReady(progress)).toEqual([]);
    progress.serve(1, 1);
    progress.settle(1, 3, false);
    expect(takeReady(progress)).toEqual([3]);
    expect(progress.isDone(1)).toBe(false);
    progress.serve(1, 3);
    expect(progress.isDone(1)).toBe(true);
    expect(progress.isTaken(1, 3)).toBe(false);
    expect(progress.isTaken(1, 4)).toBe(true);
  });

  test("waits for a task that is not visited no longer than until that is known", () => {
    const progress = startDiamond();
    progress.settle(1, 1, true);
    progress.settle(1, 2, false);
    expect(takeReady(progress)).toEqual([1]);
    progress.serve(1, 1);
    progress.settle(1, 3, true);
    expect(takeReady(progress)).toEqual([3]);
  });

  test("is skipped with all behind it when no edge into it is taken", () => {
    const progress = startDiamond();
    for (const edge of edgesFrom(DIAMOND, 0)) progress.settle(1, edge, false);
    expect(takeReady(progress)).toEqual([]);
    expect(progress.isDone(1)).toBe(true);
  });
});

test("a request that takes no entry is done at once, and its name can be used again", () => {
  const progress = new VisitProgress(DIAMOND, 1);
  progress.open(0);
  expect(progress.isDone(0)).toBe(false);
  progress.settle(0, 0, false);
  expect(progress.isDone(0)).toBe(true);
  progress.open(0);
  expect(progress.isDone(0)).toBe(false);
  progress.settle(0, 0, true);
  expect(takeReady(progress)).toEqual([0]);
});

test("skipping goes down a long chain", () => {
  const length = 500;
  const chain = graphOf(Array.from({ length }, (_, task) => [task - 1]));
  const progress = new VisitProgress(chain, 1);
  progress.open(0);
  progress.settle(0, 0, false);
  expect(progress.isDone(0)).toBe(true);
});

test("mistakes of a driver are noticed", () => {
  const progress = new VisitProgress(DIAMOND, 1);
  progress.open(0);
  expect(() => progress.settle(0, 1, true)).toThrow("when the task before it is served");
  expect(() => progress.serve(0, 0)).toThrow("was visited");
  progress.settle(0, 0, true);
  expect(() => progress.settle(0, 0, true)).toThrow("settled once");
  progress.serve(0, 0);
  expect(() => progress.serve(0, 0)).toThrow("was visited");
});

describe("rows that multiply", () => {
  // 0 is cut into rows that come to 1; all of them are 2, each two of them 3; 4 joins 0 and 2.
  const CUT = taskGraphOf(
    inferlineBundle({
      tasks: [
        { name: "t0", latencyMs: { 1: 1 } },
        { name: "t1", from: { t0: { fanout: 3 } }, latencyMs: { 1: 1 } },
        { name: "t2", from: { t1: { gather: "all" } }, latencyMs: { 1: 1 } },
        { name: "t3", from: { t1: { gather: 2 } }, latencyMs: { 1: 1 } },
        { name: "t4", from: { t0: 1, t2: 1 }, latencyMs: { 1: 1 } },
      ],
      levels: [],
    }),
  );
  const [ENTRY = 0, SPREAD = 0, ALL = 0, PAIRS = 0, PAST = 0, LAST = 0] = [0, 1, 2, 3, 4, 5];

  function rowsAt(progress: VisitProgress): [task: number, row: number][] {
    const ready = Array.from({ length: progress.readyCount }, (_, index): [number, number] => [
      progress.readyTask[index] ?? -1,
      progress.readyRow[index] ?? -1,
    ]);
    progress.clearReady();
    return ready;
  }

  function cut(progress: VisitProgress, count: number): number[] {
    progress.open(0);
    progress.settle(0, ENTRY, true);
    expect(rowsAt(progress)).toEqual([[0, 0]]);
    progress.serve(0, 0);
    progress.spread(0, SPREAD, count);
    progress.settle(0, PAST, true);
    const ready = rowsAt(progress);
    expect(ready.map(([task]) => task)).toEqual(new Array(count).fill(1));
    return ready.map(([, row]) => row);
  }

  function serve(progress: VisitProgress, row: number, isAll: boolean, isPairs: boolean): void {
    progress.serve(row, 1);
    progress.settle(row, ALL, isAll);
    progress.settle(row, PAIRS, isPairs);
  }

  test("are gathered when the last is settled, in windows as far as they are full", () => {
    const progress = new VisitProgress(CUT, 1, 10);
    const rows = cut(progress, 3);
    expect(rows.map((row) => [progress.parentOf(row), progress.ordinalOf(row)])).toEqual([
      [0, 0],
      [0, 1],
      [0, 2],
    ]);
    for (const row of rows.slice(1)) serve(progress, row, true, true);
    expect(rowsAt(progress)).toEqual([]);
    serve(progress, rows[0] ?? 0, false, true);
    const ready = rowsAt(progress);
    expect(ready.map(([task]) => task).sort()).toEqual([2, 3]);
    const [, window = 0] = ready.find(([task]) => task === 3) ?? [];
    expect(progress.parentOf(window)).toBe(0);
    progress.serve(window, 3);
    expect(progress.isDone(0)).toBe(false);
    progress.serve(0, 2);
    progress.settle(0, LAST, true);
    expect(rowsAt(progress)).toEqual([[4, 0]]);
    progress.serve(0, 4);
    expect(progress.isDone(0)).toBe(true);
    expect(progress.freeRows).toBe(6);
    progress.close(0);
    expect(progress.freeRows).toBe(10);
  });

  test("of which none is made, or none is gathered, let what follows be skipped", () => {
    const progress = new VisitProgress(CUT, 1, 10);
    progress.open(0);
    progress.settle(0, ENTRY, true);
    progress.clearReady();
    progress.serve(0, 0);
    progress.settle(0, PAST, true);
    progress.spread(0, SPREAD, 0);
    expect(rowsAt(progress)).toEqual([[4, 0]]);
    progress.close(0);
    const rows = cut(progress, 2);
    for (const row of rows) serve(progress, row, false, false);
    expect(rowsAt(progress)).toEqual([[4, 0]]);
    progress.serve(0, 4);
    expect(progress.isDone(0)).toBe(true);
  });

  test("use the names of those that are over again", () => {
    const progress = new VisitProgress(CUT, 1, 4);
    for (let round = 0; round < 5; round++) {
      const rows = cut(progress, 3);
      expect(new Set(rows).size).toBe(3);
      expect(Math.max(...rows)).toBeLessThan(5);
      progress.close(0);
    }
    expect(() => cut(progress, 5)).toThrow("there is room for the rows");
  });
});

describe("on any graph, in any order", () => {
  /** Parents before children; every task has one at least. */
  const graph = fc
    .integer({ min: 1, max: 7 })
    .chain((count) =>
      fc.tuple(
        ...Array.from({ length: count }, (_, task) =>
          task === 0
            ? fc.constant([REQUESTS])
            : fc.oneof(
                fc.constant([REQUESTS]),
                fc.subarray([...Array(task).keys()], { minLength: 1 }),
              ),
        ),
      ),
    )
    .map(graphOf);

  test("visits the tasks that taken edges lead to, once, and skips all others", () => {
    fc.assert(
      fc.property(
        graph,
        fc.array(fc.boolean(), { minLength: 60, maxLength: 60 }),
        fc.array(fc.nat(1000), { minLength: 20, maxLength: 20 }),
        (stages, coins, picks) => {
          const takes = (edge: number) => coins[edge] ?? false;
          const progress = new VisitProgress(stages, 3);
          const running: number[] = [];
          const visited = new Set<number>();
          const served = new Set<number>();
          const settle = (source: number) => {
            for (const edge of edgesFrom(stages, source)) {
              progress.settle(2, edge, takes(edge));
            }
            for (const task of takeReady(progress)) {
              expect(visited.has(task)).toBe(false);
              // All tasks before it that were visited have been served.
              for (
                let edge = stages.inStart[task] ?? 0;
                edge < (stages.inStart[task + 1] ?? 0);
                edge++
              ) {
                const parent = stages.parentByEdge[edge] ?? 0;
                expect(visited.has(parent)).toBe(served.has(parent));
              }
              visited.add(task);
              running.push(task);
            }
          };
          progress.open(2);
          settle(REQUESTS);
          for (let step = 0; running.length > 0; step++) {
            expect(progress.isDone(2)).toBe(false);
            const [task = 0] = running.splice((picks[step] ?? 0) % running.length, 1);
            progress.serve(2, task);
            served.add(task);
            settle(task);
          }
          expect(progress.isDone(2)).toBe(true);
          const reached = new Set<number>([REQUESTS]);
          for (let edge = 0; edge < stages.edgeCount; edge++) {
            const isOn = takes(edge) && reached.has(stages.parentByEdge[edge] ?? 0);
            if (isOn) reached.add(stages.childByEdge[edge] ?? 0);
          }
          reached.delete(REQUESTS);
          expect([...visited].sort()).toEqual([...reached].sort());
        },
      ),
      { numRuns: 500 },
    );
  });
});
