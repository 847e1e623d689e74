import { expect, test } from "vitest";
import type { DeviceDescription, MeasuredDevice } from "../../../runtime/bundle/schema.ts";
import { defaultDevice, devicesOn } from "../../../runtime/exec/models/worker-device.ts";
import {
  hardwareLines,
  hardwareNotices,
  hardwareText,
  otherHardware,
  poolHardware,
} from "../../../runtime/host/pool-hardware.ts";

const CARD = { name: "Card", driver: "1.0" };
const MEASURED: MeasuredDevice = { provider: "webgpu", ...CARD };

function gpuPool(found: DeviceDescription | null, measuredOn = MEASURED) {
  const pools = [{ name: "gpu", workers: 2, measuredOn }];
  return poolHardware(pools, devicesOn("webgpu", 2), async () => found);
}

test("what was measured where it runs is served without a word", async () => {
  const hardware = await gpuPool(CARD);
  expect(hardware.map(({ match, workers }) => [match, workers])).toEqual([["same", 2]]);
  expect([otherHardware(hardware), hardwareNotices(hardware)]).toEqual([null, []]);
});

test("another card is refused, with what was measured and what is there", async () => {
  const hardware = await gpuPool({ name: "Other", driver: "1.0" });
  expect(otherHardware(hardware)).toBe(
    'the pool "gpu" was measured on webgpu (Card, driver 1.0) and its workers are on webgpu ' +
      "(Other, driver 1.0), where its promises do not hold; measure it there (stratagem profile " +
      "--device webgpu) and compile again, or serve with --accept-other-hardware",
  );
});

test("another driver is told of, and so is a card that nobody can name", async () => {
  const hardware = await gpuPool({ name: "Card", driver: "2.0" });
  expect(otherHardware(hardware)).toBeNull();
  expect(hardwareNotices(hardware)[0]).toContain("runs on another driver than was measured");
  expect((await gpuPool(null))[0]?.match).toBe("unknown");
});

test("another provider is refused, another processor is told of", async () => {
  const cpu = [{ name: "cpu", workers: 1, measuredOn: { ...MEASURED, provider: "cpu" as const } }];
  const describe = async () => ({ name: "Processor", driver: null });
  const onCpu = await poolHardware(cpu, devicesOn("cpu", 1), describe);
  expect([onCpu[0]?.match, otherHardware(onCpu)]).toEqual(["processor", null]);
  const onGpu = await poolHardware(cpu, devicesOn("webgpu", 1), describe);
  expect(onGpu[0]?.match).toBe("other");
  expect(otherHardware(onGpu)).toContain("its workers are on webgpu (Processor)");
});

test("devices of several pools are told with the workers on each", async () => {
  const pools = [
    { name: "gpu", workers: 2, measuredOn: MEASURED },
    { name: "small", workers: 3 },
  ];
  const devices = [
    { ...defaultDevice("cuda"), id: "0" },
    { ...defaultDevice("cuda"), id: "1" },
    ...devicesOn("cpu", 3),
  ];
  const hardware = await poolHardware(pools, devices, async ({ provider }) => {
    return provider === "cpu" ? { name: "Processor", driver: null } : CARD;
  });
  expect(hardwareText(hardware)).toBe(
    ": 1 on cuda:0 (Card, driver 1.0), 1 on cuda:1 (Card, driver 1.0), 3 on cpu",
  );
  const samples = hardwareLines(hardware).filter((line) => line.kind === "sample");
  expect(samples.map(({ labels }) => [labels["pool"], labels["name"], labels["match"]])).toEqual([
    ["gpu", "Card", "other"],
    ["gpu", "Card", "other"],
    ["small", "Processor", "unknown"],
  ]);
});
