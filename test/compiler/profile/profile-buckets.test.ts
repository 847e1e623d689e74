/** Models whose axes have lists of sizes are measured in every bucket. */
import { expect, test } from "vitest";
import { profileCommand } from "../../../compiler/commands/profile/profile.ts";
import { readProfile } from "../../../compiler/spec/profile.ts";
import type { Batch } from "../../../runtime/exec/models/executor.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { commandFor, fakeMachine, UNPROFILED } from "./fake-machine.ts";

const FILES = { "app.yaml": UNPROFILED, "small.onnx": "small", "large.onnx": "large" };
const WIDTHS = [2, 8];

/** Where the small model has an open width, and a run takes as long as its input is. */
function machineOfWidths(runs: Batch[] = []) {
  const bytesOf = ({ inputs }: Batch) => inputs[0]?.[0]?.length ?? 0;
  const timing = (batch: Batch) => {
    runs.push(batch);
    return { wallMs: bytesOf(batch), cpuMs: bytesOf(batch) };
  };
  return fakeMachine(timing, {
    readModel: async (file) => {
      const isOpen = file.includes("small");
      const tensor = { name: "x", dtype: "float32", shape: [-1, isOpen ? -1 : 2] };
      const axis = { inputs: [{ input: 0, axis: 1 }], sizes: WIDTHS, padding: 0 };
      const model = { file, sha256: "0".repeat(64), inputs: [tensor], outputs: [tensor] };
      return { model: isOpen ? { ...model, buckets: [axis] } : model };
    },
  });
}

test("each bucket has its times, and a reader without buckets gets the largest's", async () => {
  const folder = folderOf(FILES);
  const runs: Batch[] = [];
  const machine = machineOfWidths(runs);
  const { json, text } = await profileCommand(commandFor(folder, { repeat: 2 }), machine);
  expect(text).toMatch(/^variant +bucket +batch/m);
  expect(text).toMatch(/^small +8 +2 /m);
  const { small, large } = JSON.parse(
    JSON.stringify(Object.fromEntries(readProfile(`${folder}/profile.json`).variants)),
  );
  const p95s = (rows: { batch: number; latencyMs: number }[]) =>
    rows.map(({ batch, latencyMs }) => [batch, Math.floor(latencyMs)]);
  expect(small.profile.buckets.map(({ name }: { name: string }) => name)).toEqual(["2", "8"]);
  const [narrow, wide] = small.profile.buckets;
  expect(p95s(narrow.rows)).toEqual([
    [1, 8],
    [2, 16],
  ]);
  expect(p95s(wide.rows)).toEqual([
    [1, 32],
    [2, 64],
  ]);
  expect(small.profile.rows).toEqual(wide.rows);
  expect(large.profile.buckets).toBeUndefined();
  expect(new Set(runs.map(({ bucket = 0 }) => bucket))).toEqual(new Set([0, 1]));
  expect(JSON.stringify(json)).toContain('"bucket":"8"');
});

test("a budget measures every bucket once before any of them well", async () => {
  const folder = folderOf(FILES);
  const command = commandFor(folder, { repeat: 30 });
  await profileCommand({ ...command, budgetMs: 700 }, machineOfWidths()).catch(() => {});
  const buckets = readProfile(`${folder}/profile.json`).variants.get("small")?.profile.buckets;
  expect(buckets?.map(({ name }) => name)).toEqual(["2", "8"]);
});
