/** What the command line of `profile` says of the worker's device. */
import { expect, test } from "vitest";
import { profiledDevice } from "../../../compiler/commands/profile/device.ts";
import type { ProfilePlan } from "../../../compiler/profile/profile-plan.ts";
import { executorOptions } from "../../../compiler/profile/profiled-worker.ts";

test("a device, its variables and options are those of the worker", () => {
  const providerOptions = "preferredLayout=NHWC,enableRobustness=false";
  const on = profiledDevice({ device: "webgpu", workerEnv: ["A=1=2", "B="], providerOptions });
  expect(on).toEqual({
    ...{ provider: "webgpu", id: null, environment: { A: "1=2", B: "" } },
    options: { preferredLayout: "NHWC", enableRobustness: false },
  });
  const plan = { variants: [], cores: [1], device: "webgpu", on } as unknown as ProfilePlan;
  expect(executorOptions(plan, 2).devices).toEqual([on, on]);
  expect(profiledDevice({ device: "cuda:MIG-1a", workerEnv: [] })).toMatchObject({
    ...{ provider: "cuda", id: "MIG-1a" },
  });
});

test.each([
  [{ device: "auto" }, '--device: expected cpu, cuda, tensorrt or webgpu; .*, got "auto"'],
  [{ device: "cuda:0,1" }, "--device: expected exactly one device, such as cuda:0"],
  [{ workerEnv: ["gpu:A=1"] }, '--worker-env: expected a variable such as .*, got "gpu:A=1"'],
  [{ providerOptions: "x" }, "--provider-options: expected options such as"],
  [{ providerOptions: "a=1" }, '--provider-options: cpu has no option "a"'],
])("%o is refused", (flags, message) => {
  expect(() => profiledDevice({ device: "cpu", workerEnv: [], ...flags })).toThrow(
    new RegExp(message),
  );
});
