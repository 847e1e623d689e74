import { expect, test } from "vitest";
import { parseDevice } from "../../../runtime/bundle/schema.ts";
import { deviceEnvironment } from "../../../runtime/devices/device-environment.ts";
import { deviceText } from "../../../runtime/exec/models/worker-device.ts";
import {
  type DeviceOptions,
  devicesText,
  expectOptions,
  expectPools,
  poolBySlot,
  servingDevices,
} from "../../../runtime/host/serving-devices.ts";

const ORDER = { CUDA_DEVICE_ORDER: "PCI_BUS_ID" };

const POOLS = [
  { name: "gpu", workers: 3, device: "cuda:0,MIG-1a" },
  { name: "small", workers: 2 },
];

function texts(options: DeviceOptions, workers = 5): string[] {
  return servingDevices(POOLS, workers, options).map(deviceText);
}

test.each([
  ["cpu", { provider: "cpu", ids: [] }],
  ["cuda:0,1", { provider: "cuda", ids: ["0", "1"] }],
  ["tensorrt:MIG-ab/1/0", { provider: "tensorrt", ids: ["MIG-ab/1/0"] }],
  ["webgpu:1", null],
  ["cuda:", null],
  ["cuda:0,0", null],
  ["tpu", null],
])("a device is read: %s", (text, expected) => {
  expect(parseDevice(text)).toEqual(expected);
});

test("workers run where the bundle says, on processors where it says nothing", () => {
  expect(texts({})).toEqual(["cuda:0", "cuda:MIG-1a", "cuda:0", "cpu", "cpu"]);
  expect(texts({}, 4)).toEqual(["cuda:0", "cuda:MIG-1a", "cuda:0", "cpu"]);
  expect(devicesText(servingDevices(POOLS, 5, {}))).toBe("cuda:0, cuda:MIG-1a, cpu");
});

test("a bundle that counts cores has room for more instances than workers, in its one pool", () => {
  const pools = [{ name: "all", workers: 1, device: "cuda:0,1" }];
  expect(servingDevices(pools, 3, {}).map(deviceText)).toEqual(["cuda:0", "cuda:1", "cuda:0"]);
  expect(poolBySlot(pools, 3)).toEqual([0, 0, 0]);
  expect(poolBySlot(POOLS, 4)).toEqual([0, 0, 0, 1]);
});

test("an operator's word on all pools counts before the bundle's, that on one before both", () => {
  const poolDevices = { small: "webgpu" };
  expect(texts({ device: "cpu", poolDevices })).toEqual(["cpu", "cpu", "cpu", "webgpu", "webgpu"]);
  expect(servingDevices(POOLS, 5, { device: "auto" }, "webgpu").map(deviceText)).toEqual(
    new Array(5).fill("webgpu"),
  );
});

test("a device that is none is refused, and so is a pool that is not there", () => {
  expect(() => texts({ poolDevices: { small: "tpu" } })).toThrow(
    /^the device of the pool "small": expected cpu, .*, got "tpu"$/,
  );
  expect(() => expectPools(POOLS, { poolDevices: { big: "cpu" } })).toThrow(
    '--device: expected a pool (gpu, small), got "big"',
  );
});

test("a worker has its pool's variables, and sees its own device only", () => {
  const workerEnvironment = [
    { pool: null, name: "A", value: "1" },
    { pool: "small", name: "B", value: "2" },
  ];
  const devices = servingDevices(POOLS, 5, { workerEnvironment });
  const environments = devices.map((device) => {
    return deviceEnvironment(device, { CUDA_VISIBLE_DEVICES: "5,6" });
  });
  expect(environments[0]).toEqual({ ...ORDER, CUDA_VISIBLE_DEVICES: "5", A: "1" });
  expect(environments[1]).toEqual({ ...ORDER, CUDA_VISIBLE_DEVICES: "MIG-1a", A: "1" });
  expect(environments[3]).toEqual({ A: "1", B: "2" });
});

test("an option goes to workers on a provider that knows it, or is refused", () => {
  const options = {
    poolDevices: { small: "webgpu" },
    providerOptions: { preferredLayout: "NHWC" },
  };
  const told = servingDevices(POOLS, 5, options).map((device) => device.options);
  expect(told).toEqual([{}, {}, {}, options.providerOptions, options.providerOptions]);
  expect(() => expectOptions(POOLS, options)).not.toThrow();
  const { providerOptions } = options;
  expect(() => expectOptions(POOLS, { device: "auto", providerOptions })).not.toThrow();
  expect(() => expectOptions(POOLS, { providerOptions })).toThrow(
    '--provider-options: cuda has no option "preferredLayout", webgpu has',
  );
});
