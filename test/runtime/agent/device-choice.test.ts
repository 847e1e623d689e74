/** Device of an agent that is not configured with one. */
import { expect, test } from "vitest";
import { DeviceChoice } from "../../../runtime/agent/device-choice.ts";
import { defaultDevice, type WorkerDevice } from "../../../runtime/exec/models/worker-device.ts";

function choice(device: WorkerDevice | null) {
  const notices: string[] = [];
  return { devices: new DeviceChoice(device, (message) => notices.push(message)), notices };
}

test("the first provider that runs a model runs all after it", async () => {
  const { devices, notices } = choice(null);
  expect(devices.device).toBeNull();
  const tried: (readonly [string, boolean])[] = [];
  const start = async ({ provider }: WorkerDevice, isTrial: boolean) => {
    tried.push([provider, isTrial]);
    if (provider === "cuda") throw new Error("there is no cuda");
    return provider;
  };
  expect(await devices.start(start)).toBe("webgpu");
  expect(await devices.start(start)).toBe("webgpu");
  expect(tried).toEqual([
    ["cuda", true],
    ["webgpu", true],
    ["webgpu", false],
  ]);
  expect(notices).toEqual(["auto: there is no cuda", "auto: the models run on webgpu"]);
});

test("a model that nothing runs decides nothing", async () => {
  const { devices } = choice(null);
  const broken = devices.start(({ provider }) => Promise.reject(new Error(`not on ${provider}`)));
  await expect(broken).rejects.toThrow(/not on cuda\. not on webgpu\. not on cpu/);
  expect(devices.device).toBeNull();
  expect(await devices.start(async ({ provider }) => provider)).toBe("cuda");
});

test("a configured device is not tried", async () => {
  const { devices } = choice(defaultDevice("cpu"));
  const broken = devices.start(() => Promise.reject(new Error("broken")));
  await expect(broken).rejects.toThrow(/^broken$/);
  expect(devices.device?.provider).toBe("cpu");
});
