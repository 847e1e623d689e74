/** The whole way: HTTP, the decision core, worker processes and models that were cut. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AccordionBundle } from "../../../../../runtime/bundle/schema.ts";
import { type Entry, replayedPlaces } from "./driven.ts";
import { type RealPlaces, realBundle, realPlaces, WIDTH } from "./real-places.ts";

const folder = mkdtempSync(join(tmpdir(), "stratagem-places-"));
let bundle: AccordionBundle;
let house: RealPlaces;

beforeAll(async () => {
  const policy = { regrow: true };
  bundle = await realBundle(folder, { places: 3, maxDepth: 3, maxBatch: 256, sloMs: 1e6, policy });
  house = await realPlaces(bundle, folder);
});
afterAll(async () => {
  await house.server.close();
  rmSync(folder, { recursive: true });
});

interface Answer {
  readonly parameters: { readonly variant: string };
  readonly outputs: readonly { name: string; shape: number[]; data: number[] }[];
}

/** @param first what tells the rows from those of other requests. */
function rowsOf(count: number, first: number): Float32Array {
  return Float32Array.from({ length: count * WIDTH }, (_, at) => Math.sin(first + at));
}

async function infer(model: string, rows: Float32Array, parameters: object = {}): Promise<Answer> {
  const shape = [rows.length / WIDTH, WIDTH];
  const input = { name: "x", datatype: "FP32", shape, data: [...rows] };
  const body = JSON.stringify({ inputs: [input], parameters });
  const reply = await fetch(`${house.url}/v2/models/${model}/infer`, { method: "POST", body });
  expect(reply.status).toBe(200);
  return (await reply.json()) as Answer;
}

/** Checks that an answer has what the uncut model makes of the rows, in order. */
async function expectWhole({ outputs, parameters }: Answer, model: number, rows: Float32Array) {
  expect(parameters.variant).toBe(["one", "two"][model]);
  const { y, z } = await house.whole(model, rows);
  expect(outputs.map(({ name }) => name)).toEqual(["y", "z"]);
  for (const [output, expected] of [y, z].entries()) {
    const { shape, data } = outputs[output] ?? { shape: [], data: [] };
    expect(shape).toEqual([rows.length / WIDTH, WIDTH]);
    expect(data).toHaveLength(expected.length);
    const differences = data.map((value, at) => {
      const whole = expected[at] ?? Number.NaN;
      return Math.abs(value - whole) / Math.max(1, Math.abs(whole));
    });
    expect(Math.max(...differences)).toBeLessThanOrEqual(1e-5);
  }
}

async function seen(isIt: (entry: Entry) => boolean, since = 0): Promise<void> {
  while (!house.log.slice(since).some(isIt)) await new Promise(setImmediate);
}

test("a long query gives its places up for an urgent one, and rows stay right", async () => {
  const { log } = house;
  const [long, urgent] = [rowsOf(200, 1), rowsOf(4, 2)];
  const first = infer("one", long);
  await seen(({ kind }) => kind === "instance-done");
  // Four rows take 240 ms on two places, and 360 on one.
  const second = await infer("two", urgent, { timeout: 300_000 });
  const third = await infer("two", urgent, { priority: 2 });
  await expectWhole(await first, 0, long);
  for (const answer of [second, third]) await expectWhole(answer, 1, urgent);
  const shrink = log.findIndex(({ kind }) => kind === "reshape");
  const before = log.slice(0, shrink);
  expect(log[shrink]).toMatchObject({
    query: 0,
    shape: 0,
    resumeAt: before.filter(({ kind }) => kind === "instance-done").length,
  });
  expect(log[shrink + 1]).toMatchObject({ kind: "start", query: 1, shape: 1, resumeAt: 0 });
  // As the others end, it gets its places back.
  const grown = log.findLast(({ kind }) => kind === "reshape");
  expect(grown).toMatchObject({ query: 0, shape: 2 });
  expect(replayedPlaces(bundle, 4096, log)).toEqual(log);
});

test("what a killed worker was about is done by the others, and its place comes back", async () => {
  const { log, executor } = house;
  const since = log.length;
  const rows = rowsOf(100, 3);
  const answer = infer("one", rows);
  await seen(({ kind }) => kind === "instance-done", since);
  process.kill(executor.pids().slots[1] ?? 0, "SIGKILL");
  await expectWhole(await answer, 0, rows);
  const lost = log.findIndex(({ kind }) => kind === "lost");
  const done = log.slice(since, lost).filter(({ kind }) => kind === "instance-done").length;
  expect(log[lost]).toMatchObject({ place: 1 });
  expect(log[lost + 1]).toMatchObject({ kind: "reshape", shape: 1, resumeAt: done });
  expect(log.slice(since).filter(({ kind }) => kind === "instance-done")).toHaveLength(100);
  await seen((entry) => entry.kind === "ready" && entry.place === 1, since);
  const next = await infer("two", rows);
  await expectWhole(next, 1, rows);
  expect(log.findLast(({ kind }) => kind === "start")).toMatchObject({ shape: 2 });
  expect(replayedPlaces(bundle, 4096, log)).toEqual(log);
});
