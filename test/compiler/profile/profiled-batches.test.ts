import { expect, test } from "vitest";
import { profileCommand } from "../../../compiler/commands/profile/profile.ts";
import { leftOutLines } from "../../../compiler/profile/profiled-batches.ts";
import { readProfile } from "../../../compiler/spec/profile.ts";
import { folderOf } from "../spec/spec-folder.ts";
import { commandFor, type FakeMachine, fakeMachine, UNPROFILED } from "./fake-machine.ts";

const FILES = { "app.yaml": UNPROFILED, "small.onnx": "small", "large.onnx": "large" };

/** A machine whose small model takes a batch of so many rows, and the large one any. */
function machineWithFixed(rows: number, otherRows = rows): FakeMachine {
  return fakeMachine(({ rows: size }) => ({ wallMs: size, cpuMs: size }), {
    readModel: async (file) => {
      const first = file.includes("small") ? rows : -1;
      const second = file.includes("small") ? otherRows : -1;
      const inputs = [first, second].map((size, index) => {
        return { name: `x${index}`, dtype: "float32", shape: [size, 3] };
      });
      return { model: { file, sha256: "0".repeat(64), inputs, outputs: inputs } };
    },
  });
}

test("measures a model with a fixed batch only at it, and reports that once", async () => {
  const folder = folderOf(FILES);
  const machine = machineWithFixed(1);
  const { text, json } = await profileCommand(commandFor(folder, { repeat: 1 }), machine);
  expect(machine.runs.slice(0, 3)).toEqual(["0@1", "1@1", "1@2"]);
  expect(machine.runs).toHaveLength(9);
  const line = "batch 2 is left out of small: the model's batch is fixed at 1";
  expect(text.split(line)).toHaveLength(2);
  expect(json).toMatchObject({ leftOut: [line] });
  const { variants } = readProfile(`${folder}/profile.json`);
  const batches = ["small", "large"].map((name) =>
    variants.get(name)?.profile.rows.map(({ batch }) => batch),
  );
  expect(batches).toEqual([[1], [1, 2]]);
});

test("a batch that was not asked for is measured where the model takes no other", async () => {
  const machine = machineWithFixed(16);
  const command = commandFor(folderOf(FILES), { repeat: 1, dryRun: true });
  const { text, json } = await profileCommand(command, machine);
  expect(text).toContain("batches 1, 2 are left out of small: the model's batch is fixed at 16");
  expect(json).toMatchObject({ runs: 9, variants: [{ batches: [16] }, { batches: [1, 2] }] });
});

test("says nothing where the fixed batch is what was asked for", async () => {
  const command = commandFor(folderOf(FILES), { repeat: 1, batches: [1] });
  const { text, json } = await profileCommand(command, machineWithFixed(1));
  expect(text).not.toContain("left out");
  expect(json).not.toHaveProperty("leftOut");
});

test("reports models with the same batch in one line", () => {
  const models = [1, 1, 4].map((rows, index) => ({
    name: `m${index}`,
    model: { inputs: [{ name: "x", dtype: "float32", shape: [rows, 3] }] },
  }));
  expect(leftOutLines(models, [1, 2, 4])).toEqual([
    "batches 2, 4 are left out of m0, m1: their batch is fixed at 1",
    "batches 1, 2 are left out of m2: the model's batch is fixed at 4",
  ]);
});

test("refuses a model whose inputs differ in their fixed batch", async () => {
  const command = commandFor(folderOf(FILES));
  await expect(profileCommand(command, machineWithFixed(1, 4))).rejects.toThrow(
    'expected inputs that all take a batch of 1; input "x1" has shape [4, 3]',
  );
});
