import { readFileSync, writeFileSync } from "node:fs";
import { defaultDevice, devicesOn } from "stratagem-runtime/internal/exec/models/worker-device";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  AUTO_PROVIDERS,
  onFirstProvider,
  type RefusedProvider,
} from "../../../runtime/exec/limits/first-provider.ts";
import {
  countingRows,
  identityVariant,
  type StartedExecutor,
  startedExecutor,
} from "./built-executor.ts";

// Workers inherit these: accelerators that this machine may have are hidden from them, so that the
// tests mean the same everywhere.
const HIDDEN = {
  CUDA_VISIBLE_DEVICES: "",
  VK_DRIVER_FILES: "none",
  VK_ICD_FILENAMES: "none",
};
const before = { ...process.env };
beforeAll(() => {
  Object.assign(process.env, HIDDEN);
});
afterAll(() => {
  for (const name of Object.keys(HIDDEN)) {
    if (before[name] === undefined) delete process.env[name];
    else process.env[name] = before[name];
  }
});

async function echo(executor: StartedExecutor, worker: number): Promise<void> {
  const sent = countingRows(0, 1);
  const { outputs } = await executor.run(worker, { variant: 0, rows: 1, inputs: [[sent]] });
  expect(outputs[0]?.bytes).toEqual(sent);
}

test("an accelerator that is absent is named, with the reason", async () => {
  const devices = devicesOn("cuda", 2);
  const start = startedExecutor({ devices, workerCount: 2, standbyCount: 1 });
  await expect(start).rejects.toThrow(/^identity \(.*identity\.onnx\) on cuda: .*cuda/i);
});

test("the first provider that works is taken, and it is said why the others do not", async () => {
  const refused: RefusedProvider[] = [];
  const executor = await onFirstProvider(
    (provider) => {
      const devices = devicesOn(provider, 2);
      return startedExecutor({ devices, workerCount: 2, isTrial: true });
    },
    (one) => refused.push(one),
  );
  expect(refused.map(({ provider }) => provider)).toEqual(["cuda", "webgpu"]);
  expect(refused[0]?.reason).toContain("on cuda: ");
  expect([await executor.nextEvent(), await executor.nextEvent()]).toEqual(["ready 0", "ready 1"]);
  await echo(executor, 1);
  await executor.close();
});

test("all providers are reported when none runs the model", async () => {
  const variant = identityVariant("unusable");
  writeFileSync(variant.path, "no model");
  const start = onFirstProvider((provider) => {
    return startedExecutor({ devices: devicesOn(provider, 1), variants: [variant] });
  });
  await expect(start).rejects.toThrow(
    /^no device runs the models\. .* on cuda: .* on webgpu: .* on cpu: /,
  );
  expect(AUTO_PROVIDERS).toEqual(["cuda", "webgpu", "cpu"]);
});

test("webgpu refuses a choice of accelerators that it cannot make", async () => {
  const devices = [{ ...defaultDevice("webgpu"), id: "1" }];
  const start = startedExecutor({ devices });
  await expect(start).rejects.toThrow("devices of webgpu cannot be chosen by number");
});

const onLinux = process.platform === "linux" ? test : test.skip;

onLinux("a lost worker is followed by a standby of its own device", async () => {
  const [first, second] = ["a", "b"].map((name) => {
    return { ...defaultDevice("cpu"), environment: { ORT_TEST_DEVICE: name } };
  });
  if (first === undefined || second === undefined) throw new Error("two devices");
  const devices = [first, second, second];
  const executor = await startedExecutor({ devices, workerCount: 3, standbyCount: 1 });
  for (const slot of [0, 1, 2]) expect(await executor.nextEvent()).toBe(`ready ${slot}`);
  const { standbys } = executor.pids();
  expect(standbys).toHaveLength(2);
  process.kill(executor.pidOf(2), "SIGKILL");
  expect(await executor.nextEvent()).toMatch(/^lost 2: /);
  expect(await executor.nextEvent()).toBe("ready 2");
  expect(standbys).toContain(executor.pidOf(2));
  const variables = readFileSync(`/proc/${executor.pidOf(2)}/environ`, "utf8").split("\0");
  expect(variables).toContain("ORT_TEST_DEVICE=b");
  await echo(executor, 2);
  await executor.close();
});
