import { expect, test } from "vitest";
import type { Cell } from "../../../compiler/profile/measure.ts";
import { cellNoise, machineNoise } from "../../../compiler/profile/noise.ts";
import { Rng } from "../../../runtime/core/rng.ts";

const RUNS = 400;

/** Runs of a time with a tail as quiet machines have it: up to 1.3 times as long, seldom thrice. */
function quietMs(ms: number, seed: number, runs = RUNS): number[] {
  const rng = new Rng(seed, 0);
  return Array.from({ length: runs }, () => {
    const factor = 1 + 0.3 * rng.nextFloat() ** 3;
    return ms * (rng.nextFloat() < 0.02 ? 3 : factor);
  });
}

/** Every third run waits for a neighbour's time slice. */
function sharedMs(ms: number, seed: number): number[] {
  const rng = new Rng(seed, 1);
  return quietMs(ms, seed).map((one) => (rng.nextFloat() < 0.35 ? one + 4 * rng.nextFloat() : one));
}

function cellOf(wallMs: readonly number[], cpuMs = wallMs): Cell {
  return { variant: "v", batch: 1, cores: 1, wallMs, workerMs: wallMs, cpuMs };
}

function machineOf(cells: readonly Cell[], device = "cpu", judgesCells = true) {
  const judged = cells.map((cell) => ({ cell, noise: cellNoise(cell.wallMs) }));
  return machineNoise(judged, device, judgesCells);
}

test("knows the p95 of a quiet machine closely, however small the model", () => {
  for (const [index, ms] of [0.1, 0.5, 5, 500].entries()) {
    const { p95Interval, isNoisy, drift } = cellNoise(quietMs(ms, index));
    expect(isNoisy).toBe(false);
    expect(drift).toBeLessThan(0.05);
    expect(p95Interval.confidence).toBeGreaterThanOrEqual(0.9);
    expect(p95Interval.lowMs).toBeLessThanOrEqual(1.3 * ms);
    expect(p95Interval.highMs).toBeGreaterThan(1.1 * ms);
  }
});

test("a cell is noisy whose p95 is uncertain, and less so with more runs", () => {
  const rng = new Rng(3, 0);
  // Of a Pareto tail, whose p95 takes many runs.
  const runs = Array.from({ length: 4000 }, () => 5 / (1 - rng.nextFloat()) ** 0.8);
  expect(cellNoise(runs.slice(0, 30)).isNoisy).toBe(true);
  expect(cellNoise(runs).isNoisy).toBe(false);
});

test("a cell is noisy whose median moves between its first and its last half", () => {
  const moved = quietMs(10, 1).map((ms, run) => (run < RUNS / 2 ? ms : 1.4 * ms));
  const { drift, isNoisy } = cellNoise(moved);
  expect(drift).toBeGreaterThan(0.25);
  expect(isNoisy).toBe(true);
  // Of 19 runs the halves differ by chance.
  expect(cellNoise(moved.slice(190, 209)).drift).toBe(0);
});

test("a machine is noisy for its tails, although every p95 is known well", () => {
  const cells = [0.15, 0.2, 0.3].map((ms, index) => cellOf(sharedMs(ms, index)));
  const { figure, limit, noisyCells } = machineOf(cells);
  expect(figure).toBeGreaterThan(limit);
  expect(noisyCells).toEqual([]);
});

test("reports the neighbours' share only for runs on one CPU core", () => {
  const wallMs = quietMs(10, 1);
  const half = cellOf(
    wallMs,
    wallMs.map((ms) => ms / 2),
  );
  expect(machineOf([half]).waitingShare).toBeCloseTo(0.5, 12);
  expect(machineOf([{ ...half, cores: 2 }]).waitingShare).toBeNull();
  expect(machineOf([half], "cuda").waitingShare).toBeNull();
});

test("a tenth of the cells may be noisy, and all whose runs were not theirs to choose", () => {
  const cells = Array.from({ length: 20 }, () => cellOf(Array.from({ length: 30 }, () => 1)));
  const wild = cellOf([...Array.from({ length: 29 }, () => 1), 90]);
  expect(machineOf([wild, ...cells])).toMatchObject({ noisyCells: [0], mostNoisyCells: 2 });
  expect(machineOf([wild], "cpu", false)).toMatchObject({ noisyCells: [0], mostNoisyCells: 1 });
});
