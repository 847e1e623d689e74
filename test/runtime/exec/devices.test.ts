import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { countingRows, identityVariant, startedExecutor } from "./built-executor.ts";

const AUTO_ORDER = ["cuda", "webgpu", "cpu"];

// Workers inherit these: accelerators that this machine may have are hidden from them, so that the
// tests mean the same everywhere.
const before = { ...process.env };
beforeAll(() => {
  process.env["CUDA_VISIBLE_DEVICES"] = "";
  process.env["VK_DRIVER_FILES"] = "none";
});
afterAll(() => {
  for (const name of ["CUDA_VISIBLE_DEVICES", "VK_DRIVER_FILES"]) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
});

test("an accelerator that is absent is named, with the reason", async () => {
  const start = startedExecutor({ device: "cuda", workerCount: 2, standbyCount: 1 });
  await expect(start).rejects.toThrow(/^identity \(.*identity\.onnx\) on cuda: .*cuda/i);
});

test("auto goes on to the first device that works, and says why the others do not", async () => {
  const executor = await startedExecutor({ device: "auto", workerCount: 2 });
  const refused = executor.refusedDevices;
  expect(refused.map(({ device }) => device)).toEqual(AUTO_ORDER.slice(0, refused.length));
  expect(refused[0]?.reason).toContain("on cuda: ");
  expect(executor.device).toBe(AUTO_ORDER[refused.length]);
  expect([await executor.nextEvent(), await executor.nextEvent()]).toEqual(["ready 0", "ready 1"]);
  const sent = countingRows(0, 1);
  const { outputs } = await executor.run(1, { variant: 0, rows: 1, inputs: [[sent]] });
  expect(outputs[0]?.bytes).toEqual(sent);
  await executor.close();
});

test("a device asked for by name is used or refused, never replaced", async () => {
  const executor = await startedExecutor({ device: "cpu", deviceIds: [0, 1] });
  expect([executor.device, executor.refusedDevices]).toEqual(["cpu", []]);
  await executor.close();
});

test("auto reports every device when none runs the model", async () => {
  const variant = identityVariant("unusable");
  writeFileSync(variant.path, "no model");
  await expect(startedExecutor({ device: "auto", variants: [variant] })).rejects.toThrow(
    /^no device runs the models\. .* on cuda: .* on webgpu: .* on cpu: /,
  );
});

test("webgpu refuses a choice of accelerators that it cannot make", async () => {
  const start = startedExecutor({ device: "webgpu", deviceIds: [1] });
  await expect(start).rejects.toThrow("accelerators cannot be chosen by number");
});
