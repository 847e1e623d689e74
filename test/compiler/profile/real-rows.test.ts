import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { profileCommand } from "../../../compiler/commands/profile/profile.ts";
import type { Batch } from "../../../runtime/exec/models/executor.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { commandFor, fakeMachine, type Timing, UNPROFILED } from "./fake-machine.ts";

const FILES = { "app.yaml": UNPROFILED, "small.onnx": "small", "large.onnx": "large" };

/** Takes as many ms as the largest first number of its rows: a detector of that many boxes. */
const byContent: Timing = ({ inputs, rows }) => {
  const bytes = Buffer.concat(inputs[0] ?? []);
  const boxes = Array.from({ length: rows }, (_, row) => bytes.readFloatLE(8 * row));
  const wallMs = Math.max(...boxes);
  return { wallMs, cpuMs: wallMs };
};

/** Rows of two numbers, the inputs of the fake models. */
function rowsOf(firsts: readonly number[]): Buffer {
  return Buffer.from(Float32Array.from(firsts.flatMap((first) => [first, 0])).buffer);
}

const firstOf = (batch: Batch) => Buffer.concat(batch.inputs[0] ?? []).readFloatLE(0);

function smallRow(folder: string, batch: number): unknown {
  const profile = JSON.parse(readFileSync(`${folder}/profile.json`, "utf8"));
  return profile.variants.small.latencyMs[String(batch)];
}

test("measures with the rows of a file in turn, and says so", async () => {
  const folder = folderOf({ ...FILES, "rows.bin": rowsOf([1, 2, 3, 4]) });
  const asked = { repeat: 100, force: true, inputs: `${folder}/rows.bin` };
  const { text } = await profileCommand(commandFor(folder, asked), fakeMachine(byContent));
  expect(text).toContain("\nmeasured on 4 rows of rows.bin\n");
  expect(readFileSync(`${folder}/profile.json`, "utf8")).toContain(", on 4 rows of rows.bin, ");
  // The fake transport takes 0.125 ms; each row is as frequent, and a batch has two neighbours.
  expect(smallRow(folder, 1)).toMatchObject({ p50: 2.125, p95: 4.125, samples: 100 });
  expect(smallRow(folder, 2)).toMatchObject({ p50: 2.125, p95: 4.125 });
});

test("a folder has a row in each file, by name", async () => {
  const folder = folderOf(FILES);
  mkdirSync(`${folder}/rows`);
  for (const first of [3, 1, 2]) writeFileSync(`${folder}/rows/${first}`, rowsOf([first]));
  const seen = new Set<number>();
  const timing: Timing = (batch, run, cores) => {
    seen.add(firstOf(batch));
    return byContent(batch, run, cores);
  };
  const asked = { batches: [1], force: true, inputs: `${folder}/rows` };
  await profileCommand(commandFor(folder, asked), fakeMachine(timing));
  expect([...seen]).toEqual([1, 2, 3]);
});

test("says that numbers are random where nothing else is given", async () => {
  const { text } = await profileCommand(commandFor(folderOf(FILES)), fakeMachine(constant));
  expect(text).toContain(
    "\nmeasured on random numbers; if times depend on the input, measure with real rows: " +
      "--inputs\n",
  );
});

const constant: Timing = () => ({ wallMs: 1, cpuMs: 1 });

test("other rows begin a measurement anew", async () => {
  const folder = folderOf({ ...FILES, "rows.bin": rowsOf([1]) });
  const noisy: Timing = (_, run) => {
    const wallMs = run % 3 === 0 ? 50 : 1;
    return { wallMs, cpuMs: wallMs };
  };
  const inputs = `${folder}/rows.bin`;
  const refused = profileCommand(commandFor(folder, { inputs }), fakeMachine(noisy));
  await expect(refused).rejects.toThrow("quiet enough");
  writeFileSync(inputs, rowsOf([2]));
  const machine = fakeMachine(constant);
  await profileCommand(commandFor(folder, { inputs, force: true }), machine);
  expect(machine.runs).toHaveLength(4 * 22);
});

test("rows have the order of the first variant, whatever that of others", async () => {
  const folder = folderOf({ ...FILES, "rows.bin": rowsOf([1]) });
  const ids = { name: "ids", dtype: "float32", shape: [-1, 1] };
  const mask = { name: "mask", dtype: "float32", shape: [-1, 1] };
  const seen: number[][] = [[], []];
  const timing: Timing = ({ variant, inputs }) => {
    seen[variant] = inputs.map((parts) => Buffer.concat(parts).readFloatLE(0));
    return { wallMs: 1, cpuMs: 1 };
  };
  const machine = fakeMachine(timing, {
    readModel: async (path) => {
      const inputs = path.endsWith("small.onnx") ? [ids, mask] : [mask, ids];
      return { model: { file: path, sha256: "0".repeat(64), inputs, outputs: [] } };
    },
  });
  await profileCommand(commandFor(folder, { inputs: `${folder}/rows.bin` }), machine);
  expect(seen).toEqual([
    [1, 0],
    [0, 1],
  ]);
});

test("tasks behind another have random numbers, unless they are measured alone", async () => {
  const app = UNPROFILED.replace(
    "model: small.onnx }\n",
    "model: small.onnx }\n    to: [{ task: next }]\n  - name: next\n    variants:\n",
  );
  const folder = folderOf({ ...FILES, "app.yaml": app, "rows.bin": rowsOf([1]) });
  const inputs = `${folder}/rows.bin`;
  const { text } = await profileCommand(commandFor(folder, { inputs }), fakeMachine(constant));
  expect(text).toContain("on 1 row of rows.bin for small; random numbers for large; if times");
  const alone = commandFor(folder, { inputs, task: "next" });
  const { text: next } = await profileCommand(alone, fakeMachine(constant));
  expect(next).toContain("measured on 1 row of rows.bin\n");
});

test("refuses rows of another length, and what cannot be read", async () => {
  const folder = folderOf({ ...FILES, "rows.bin": Buffer.alloc(12) });
  const measure = (name: string) => {
    return profileCommand(
      commandFor(folder, { inputs: `${folder}/${name}` }),
      fakeMachine(constant),
    );
  };
  await expect(measure("rows.bin")).rejects.toThrow(
    'rows.bin: expected rows of 8 bytes, for the inputs "x", got 4 bytes',
  );
  await expect(measure("none")).rejects.toThrow("none: cannot be read (ENOENT)");
});
