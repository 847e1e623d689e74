/** Options of providers: which there are, as the binding takes them, and what is said of others. */
import { expect, test } from "vitest";
import type { Provider, ProviderOptions } from "../../../../runtime/exec/models/worker-device.ts";
import {
  checkOptionsOfAny,
  checkProviderOptions,
  optionsOf,
  parseProviderOptions,
} from "../../../../runtime/exec/onnx/provider-options.ts";
import { sessionOptions } from "../../../../runtime/exec/onnx/session-options.ts";

test.each<[Provider, ProviderOptions]>([
  ["cpu", {}],
  ["cuda", {}],
  ["webgpu", { preferredLayout: "NHWC", validationMode: "wgpuOnly", enableRobustness: false }],
  ["webgpu", { storageBufferCacheMode: "lazyRelease", uniformBufferCacheMode: "simple" }],
  ["webgpu", { queryResolveBufferCacheMode: "bucket", defaultBufferCacheMode: "disabled" }],
  ["webgpu", { forceCpuNodeNames: ["/a", "/b"] }],
])("%s takes %o", (provider, options) => {
  expect(checkProviderOptions(provider, options)).toBe(null);
});

test.each<[Provider, ProviderOptions, string]>([
  [
    "webgpu",
    { preferedLayout: "NHWC" },
    'webgpu has no option "preferedLayout"; did you mean "preferredLayout"?',
  ],
  ["webgpu", { deviceId: "0" }, 'webgpu has no option "deviceId"; allowed are preferredLayout, '],
  [
    "webgpu",
    { preferredLayout: "nhwc" },
    'option "preferredLayout" of webgpu: expected NCHW, NHWC, got "nhwc"; did you mean "NHWC"?',
  ],
  ["webgpu", { validationMode: true }, "expected disabled, wgpuOnly, basic, full, got true"],
  ["webgpu", { enableRobustness: "yes" }, 'expected true or false, got "yes"'],
  ["webgpu", { forceCpuNodeNames: [] }, "expected at least one node name, got []"],
  [
    "cuda",
    { gpu_mem_limit: "1" },
    'cuda has no option "gpu_mem_limit"; the onnxruntime binding passes no options to cuda',
  ],
  ["cpu", { preferredLayout: "NHWC" }, 'cpu has no option "preferredLayout", webgpu has; the '],
  ["webgpu", { ["a".repeat(5000)]: "1" }, 'webgpu has no option "aaa'],
  ["webgpu", { toString: "x" }, 'webgpu has no option "toString"'],
])("%s refuses %o", (provider, options, message) => {
  const reported = checkProviderOptions(provider, options);
  expect(reported).toContain(message);
  expect(reported?.length).toBeLessThan(400);
});

test("options come from a line of text", () => {
  const text = "preferredLayout=NHWC, enableRobustness=false,forceCpuNodeNames=/a=b";
  expect(parseProviderOptions(`${text},forceCpuNodeNames=/c`)).toEqual({
    preferredLayout: "NHWC",
    enableRobustness: false,
    forceCpuNodeNames: ["/a=b", "/c"],
  });
});

test.each([
  ["", 'expected options such as preferredLayout=NHWC,enableRobustness=false, got ""'],
  ["preferredLayout", 'got "preferredLayout"'],
  ["preferredLayout=", 'got "preferredLayout="'],
  ["a=1,a=2", 'expected option "a" once, got 1 and 2'],
])("a line such as %j is refused", (text, message) => {
  expect(() => parseProviderOptions(text)).toThrow(message);
});

const NO_MODEL = new Uint8Array();

test("a session selects the one accelerator that its process sees", () => {
  const providersOf = (provider: Provider, id: string | null, options: ProviderOptions = {}) => {
    return sessionOptions({ on: { provider, id, options } }, 2, NO_MODEL).executionProviders;
  };
  expect(providersOf("cpu", null)).toEqual([{ name: "cpu" }]);
  expect(providersOf("cuda", "MIG-1")).toEqual([{ name: "cuda", deviceId: 0 }]);
  expect(providersOf("tensorrt", "3")).toEqual([
    { name: "tensorrt", deviceId: 0 },
    { name: "cuda", deviceId: 0 },
  ]);
  expect(providersOf("webgpu", null, { preferredLayout: "NHWC" })).toEqual([
    { name: "webgpu", preferredLayout: "NHWC" },
  ]);
  expect(() => providersOf("webgpu", "1")).toThrow("devices of webgpu cannot be chosen by number");
  expect(() => providersOf("cuda", null, { arena: "1" })).toThrow('cuda has no option "arena"');
});

test("where there are several providers, each is given what it knows", () => {
  const options = { preferredLayout: "NHWC" };
  expect(checkOptionsOfAny(["cpu", "webgpu"], options)).toBe(null);
  expect(optionsOf("webgpu", options)).toEqual(options);
  expect(optionsOf("cpu", options)).toEqual({});
  expect(checkOptionsOfAny(["cpu", "cuda"], options)).toContain(
    'cpu has no option "preferredLayout", webgpu has',
  );
  expect(checkOptionsOfAny(["cpu", "webgpu"], { deviceId: "0" })).toContain(
    'webgpu has no option "deviceId"; allowed are preferredLayout, ',
  );
  expect(checkOptionsOfAny(["cpu", "webgpu"], { preferredLayout: "X" })).toContain(
    'option "preferredLayout" of webgpu: expected NCHW, NHWC, got "X"',
  );
});
