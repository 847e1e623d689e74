import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { InterruptedError } from "../../../compiler/base/errors.ts";
import { profileCommand } from "../../../compiler/commands/profile/profile.ts";
import { type Choice, chooseRound, outlooksOf } from "../../../compiler/profile/budget.ts";
import type { Measurement } from "../../../compiler/profile/latency-profile.ts";
import type { Cell } from "../../../compiler/profile/measure.ts";
import { readProfile } from "../../../compiler/spec/profile.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { commandFor, fakeMachine, type Timing, UNPROFILED } from "./fake-machine.ts";

const FILES = { "app.yaml": UNPROFILED, "small.onnx": "small", "large.onnx": "large" };
const REPEAT = 30;

/** A cell with as many runs as times. */
function cellOf(batch: number, wallMs: readonly number[], variant = "v", cores = 1): Cell {
  return { variant, batch, cores, wallMs, workerMs: wallMs, cpuMs: wallMs };
}

/** Runs that all take about as long. */
function steadyMs(ms: number, runs: number): number[] {
  return Array.from({ length: runs }, (_, run) => ms * (1 + (run % 5) / 500));
}

/** Runs of which every fourth takes up to four times as long. */
function wildMs(ms: number, runs: number): number[] {
  return Array.from({ length: runs }, (_, run) => (run % 4 === 3 ? ms * (1 + (run % 11) / 3) : ms));
}

function chosen(cells: readonly Cell[], leftMs = 60_000): number[] {
  return chooseRound({ cells, repeat: REPEAT, leftMs }).map(({ cell }) => cell);
}

test("begins with the smallest batch of every variant", () => {
  const cells = ["a", "b"].flatMap((name) => [1, 2].map((batch) => cellOf(batch, [], name)));
  expect(chooseRound({ cells, repeat: REPEAT, leftMs: 1 })).toEqual([
    { cell: 0, isFirst: true },
    { cell: 2, isFirst: true },
  ]);
  const begun = cells.with(0, cellOf(1, steadyMs(5, 5), "a"));
  expect(chooseRound({ cells: begun, repeat: REPEAT, leftMs: 1 })).toEqual([
    { cell: 2, isFirst: true } satisfies Choice,
  ]);
});

test("runs a cell that nothing predicts before one that its neighbours do", () => {
  const known = [cellOf(1, steadyMs(10, 5)), cellOf(4, steadyMs(40, 5))];
  // Batch 2 lies between two that were measured, batch 16 two doublings beyond.
  const cells = [known[0], cellOf(2, []), known[1], cellOf(16, [])].map((cell) => cell as Cell);
  const [, two, , sixteen] = outlooksOf(cells);
  expect(two?.costMs).toBeCloseTo(20, 0);
  expect(sixteen?.costMs).toBeCloseTo(160, -1);
  expect(two?.error ?? 1).toBeLessThan(sixteen?.error ?? 0);
  expect(chosen(cells)).toEqual([3]);
});

test("interpolation is trusted less where it has missed what was measured", () => {
  const on = (ms: number): Cell[] => {
    return [1, 2, 4, 8].map((batch) =>
      cellOf(batch, batch === 4 ? [] : steadyMs(batch === 2 ? ms : 10 * batch, 30)),
    );
  };
  expect(outlooksOf(on(20))[2]?.error).toBeCloseTo(0.03, 2);
  expect(outlooksOf(on(40))[2]?.error).toBeGreaterThan(0.4);
});

test("runs what is widest for its time, and what is as good in the same round", () => {
  const wide = cellOf(1, wildMs(10, 20), "wide");
  const narrow = cellOf(1, steadyMs(10, 20), "narrow");
  const dear = cellOf(1, wildMs(1000, 20), "dear");
  expect(chosen([wide, narrow, dear])).toEqual([0]);
  expect(chosen([wide, cellOf(1, wildMs(10, 20), "twin"), dear])).toEqual([0, 1]);
});

test("ends when every cell is known, and leaves out what does not fit", () => {
  const done = cellOf(1, steadyMs(10, REPEAT), "done");
  expect(chosen([done])).toEqual([]);
  const open = cellOf(1, steadyMs(10, 10), "open");
  expect(chosen([done, open], 11)).toEqual([1]);
  expect(chosen([done, open], 9)).toEqual([]);
  // Batch 8 takes at most 80 ms, seven times to begin with.
  const cells = [cellOf(1, steadyMs(10, REPEAT)), cellOf(8, [])];
  expect(chosen(cells, 500)).toEqual([]);
  expect(chosen(cells, 600)).toEqual([1]);
});

test("gives noisy cells more runs than were asked for, with a bound", () => {
  expect(chosen([cellOf(1, wildMs(10, 30), "v")])).toEqual([0]);
  const torn = Array.from({ length: 600 }, (_, run) => (run < 300 ? 10 : 30));
  expect(chosen([cellOf(1, torn)])).toEqual([]);
  expect(chosen([cellOf(1, torn.slice(1))])).toEqual([0]);
});

/** Small takes 20 ms a row, large 400. */
const heavy: Timing = ({ variant, rows }) => {
  const wallMs = (variant === 0 ? 20 : 400) * rows;
  return { wallMs, cpuMs: wallMs };
};

const BUDGET = { batches: [1, 2, 4, 8], repeat: 200 };

test("keeps to its budget, says what it did not measure, and does the same each time", async () => {
  const runs: string[][] = [];
  for (let time = 0; time < 2; time++) {
    const folder = folderOf(FILES);
    const machine = fakeMachine(heavy);
    const command = commandFor(folder, { ...BUDGET, budgetMs: 20_000 });
    const { text, json } = await profileCommand(command, machine);
    runs.push(machine.runs);
    expect(machine.spans.at(-1)?.toMs).toBeLessThanOrEqual(20_000 + 3200);
    const { cells, notMeasured, budgetMs } = json as Measurement;
    expect(budgetMs).toBe(20_000);
    expect(cells.length + notMeasured.length).toBe(8);
    expect(notMeasured.length).toBeGreaterThan(0);
    for (const { variant, batch } of notMeasured)
      expect(text).toContain(`${variant} batch ${batch}`);
    expect(text).toContain("not measured within the budget: ");
    const { variants } = readProfile(`${folder}/profile.json`);
    expect(variants.get("small")?.profile.rows.length).toBe(4);
    expect(variants.get("large")?.profile.rows[0]?.batch).toBe(1);
    expect(existsSync(`${folder}/profile.json.partial`)).toBe(false);
  }
  expect(runs[0]).toEqual(runs[1]);
});

test("measures all as without a budget where there is time, and ends before its end", async () => {
  const machine = fakeMachine(heavy);
  const command = commandFor(folderOf(FILES), { repeat: 10, budgetMs: 600_000 });
  const { json, text } = await profileCommand(command, machine);
  expect((json as Measurement).notMeasured).toEqual([]);
  expect((json as Measurement).cells.map(({ samples }) => samples)).toEqual([10, 10, 10, 10]);
  expect(machine.runs).toHaveLength(4 * (2 + 10));
  expect(text).not.toContain("not measured");
});

test("goes on within the budget that an interrupted run had left", async () => {
  const folder = folderOf(FILES);
  const abort = new AbortController();
  const cut: Timing = (batch, run, cores) => {
    if (run === 60) abort.abort(new InterruptedError());
    return heavy(batch, run, cores);
  };
  const command = commandFor(folder, { ...BUDGET, budgetMs: 20_000 });
  const first = fakeMachine(cut, { signal: abort.signal });
  await expect(profileCommand(command, first)).rejects.toThrow("run the same command to continue");
  const second = fakeMachine(heavy);
  const { json } = await profileCommand(command, second);
  const spentMs = (first.spans.at(-1)?.toMs ?? 0) + (second.spans.at(-1)?.toMs ?? 0);
  expect(spentMs).toBeLessThanOrEqual(20_000 + 3200);
  const kept = (json as Measurement).cells.reduce((sum, { samples }) => sum + samples, 0);
  expect(kept).toBeGreaterThan(second.runs.length);
});

test("needs time for every variant, and continues with a larger budget", async () => {
  const folder = folderOf(FILES);
  const slow: Timing = () => ({ wallMs: 2000, cpuMs: 2000 });
  const command = commandFor(folder, { budgetMs: 5000 });
  await expect(profileCommand(command, fakeMachine(slow))).rejects.toMatchObject({
    code: "INPUT_CONFLICT",
    message:
      "--budget 5s: expected time for a run of every variant, got none for large. The " +
      `measurements are kept in ${folder}/profile.json.partial; run the same command with a ` +
      "larger budget to continue",
  });
  const machine = fakeMachine(slow);
  await profileCommand({ ...command, budgetMs: 25_000 }, machine);
  expect(machine.runs.slice(0, 3)).toEqual(["1@1", "1@1", "1@1"]);
});

test("a dry run says that the budget may not do for all", async () => {
  const command = commandFor(folderOf(FILES), { dryRun: true, budgetMs: 60_000 });
  const { text, json } = await profileCommand(command, fakeMachine(heavy));
  expect(text).toContain("88 runs with the warm-up, or as many as fit in 60 s");
  expect(json).toMatchObject({ budgetMs: 60_000 });
});
