import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { InterruptedError } from "../../../compiler/base/errors.ts";
import { profileCommand } from "../../../compiler/commands/profile/profile.ts";
import type { Measurement } from "../../../compiler/profile/latency-profile.ts";
import { Rng } from "../../../runtime/core/rng.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { commandFor, fakeMachine, type Timing, UNPROFILED } from "./fake-machine.ts";

const FILES = { "app.yaml": UNPROFILED, "small.onnx": "small", "large.onnx": "large" };
const EFFORT = { warmUpMs: 0, extraMs: 20_000 };

/** Of 10 ms and more, with a long tail: its p95 takes some hundred runs. */
function tailed(seed: number): Timing {
  const rng = new Rng(seed, 0);
  return () => {
    const wallMs = 10 / (1 - rng.nextFloat()) ** 0.3;
    return { wallMs, cpuMs: wallMs };
  };
}

function constant(wallMs: number): Timing {
  return () => ({ wallMs, cpuMs: wallMs });
}

function samplesOf(json: object): number[] {
  return (json as Measurement).cells.map(({ samples }) => samples);
}

test("warms up for a second, though not beyond 50 runs of each cell", async () => {
  const warmUpRuns = async (wallMs: number): Promise<number> => {
    const machine = fakeMachine(constant(wallMs));
    const effort = { warmUpMs: 1000, extraMs: 0 };
    await profileCommand(commandFor(folderOf(FILES), { repeat: 1, effort }), machine);
    return machine.runs.length - 4;
  };
  // Rounds of 4 runs, each with 1/8 ms for the way.
  expect(await warmUpRuns(0.125)).toBe(4 * 50);
  expect(await warmUpRuns(9.875)).toBe(4 * 25);
  expect(await warmUpRuns(1000)).toBe(4 * 2);
});

test("cells that vary are run until their p95 is known, and all others beside them", async () => {
  const effort = EFFORT;
  const { json } = await profileCommand(
    commandFor(folderOf(FILES), { effort }),
    fakeMachine(tailed(1)),
  );
  const [first = 0, ...others] = samplesOf(json);
  expect(first).toBeGreaterThan(59);
  expect(others).toEqual([first, first, first]);
  for (const { p95Interval, isNoisy } of (json as Measurement).cells) {
    expect(isNoisy).toBe(false);
    expect(p95Interval.confidence).toBeGreaterThanOrEqual(0.9);
  }
});

test("long runs are repeated only where they vary, for no more time than there is", async () => {
  // 500 ms each; the last of ten cells, one of which may be noisy, with a tail.
  const rng = new Rng(5, 0);
  const uneven: Timing = ({ variant, rows }) => {
    const isUneven = variant === 1 && rows === 5;
    const wallMs = isUneven ? 300 / Math.sqrt(1 - rng.nextFloat()) : 500;
    return { wallMs, cpuMs: wallMs };
  };
  const machine = fakeMachine(uneven);
  const options = { effort: EFFORT, batches: [1, 2, 3, 4, 5], repeat: 60 };
  const { json, text } = await profileCommand(commandFor(folderOf(FILES), options), machine);
  const samples = samplesOf(json);
  expect(samples.slice(0, -1)).toEqual(Array.from({ length: 9 }, () => 60));
  expect(samples.at(-1)).toBeGreaterThan(70);
  const { spans } = machine;
  const extraMs = (spans.at(-1)?.toMs ?? 0) - (spans[10 * 62 - 1]?.toMs ?? 0);
  // The last run may be a long one.
  expect(extraMs).toBeLessThan(EFFORT.extraMs + 5000);
  expect(text).toMatch(/, 60 to \d+ runs each\n/);
  expect(text).toMatch(/^variant +batch +runs +p50 ms/m);
});

test("--force measures as without it", async () => {
  const measured = async (force: boolean) => {
    const command = commandFor(folderOf(FILES), { effort: EFFORT, force });
    return (await profileCommand(command, fakeMachine(tailed(1)))).json as Measurement;
  };
  expect((await measured(true)).cells).toEqual((await measured(false)).cells);
});

test("long runs that do not vary are not repeated", async () => {
  const command = commandFor(folderOf(FILES), { effort: EFFORT, repeat: 10 });
  const { json } = await profileCommand(command, fakeMachine(constant(500)));
  expect(samplesOf(json)).toEqual([10, 10, 10, 10]);
});

test("says early on what takes long, and nothing of what does not", async () => {
  const notesFor = async (wallMs: number): Promise<string[]> => {
    const notes: string[] = [];
    const machine = fakeMachine(constant(wallMs), { onNote: (line) => notes.push(line) });
    await profileCommand(commandFor(folderOf(FILES), { repeat: 50 }), machine);
    return notes;
  };
  // 4 cells, 52 runs.
  expect(await notesFor(4000)).toEqual([
    "measuring takes about 14 min; use --budget 60s to measure less",
  ]);
  expect(await notesFor(10)).toEqual([]);
});

test("goes on with the repeats that an interruption came into", async () => {
  const folder = folderOf(FILES);
  const abort = new AbortController();
  const timing = tailed(1);
  const cut: Timing = (batch, run, cores) => {
    if (run === 4 * 22 + 20) abort.abort(new InterruptedError());
    return timing(batch, run, cores);
  };
  const command = commandFor(folder, { effort: EFFORT });
  const machine = fakeMachine(cut, { signal: abort.signal });
  await expect(profileCommand(command, machine)).rejects.toThrow(
    "run the same command to " + "continue",
  );
  const again = fakeMachine(timing);
  const { json } = await profileCommand(command, again);
  const measured = samplesOf(json).reduce((sum, count) => sum + count, 0);
  expect(measured).toBe(again.runs.length - 4 * 2 + 4 * 20 + 21);
  expect(existsSync(`${folder}/profile.json.partial`)).toBe(false);
});
