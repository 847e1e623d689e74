/**
 * Compares the hardware of workers with the hardware that a bundle was measured on: promises hold
 * on that alone.
 */

import { head, line, type MetricLine } from "../base/exposition.ts";
import {
  type DeviceDescription,
  descriptionText,
  type MeasuredDevice,
  type Pool,
} from "../bundle/schema.ts";
import {
  deviceKey,
  deviceText,
  distinctDevices,
  type WorkerDevice,
} from "../exec/models/worker-device.ts";
import { poolBySlot } from "./serving-devices.ts";

/**
 * Result of the comparison: another driver or processor may be as fast, another accelerator or
 * provider is not.
 */
export type HardwareMatch = "same" | "driver" | "processor" | "other" | "unknown";

/** Workers of a pool on one device. */
export interface PoolHardware {
  readonly pool: string;
  readonly workers: number;
  readonly device: WorkerDevice;
  /** Null if the hardware is unknown. */
  readonly found: DeviceDescription | null;
  /** Null if the bundle does not say. */
  readonly measuredOn: MeasuredDevice | null;
  readonly match: HardwareMatch;
}

type MeasuredPool = Pick<Pool, "name" | "workers" | "measuredOn">;

/** @param devices by worker slot. */
export async function poolHardware(
  pools: readonly MeasuredPool[],
  devices: readonly WorkerDevice[],
  describe: (device: WorkerDevice) => Promise<DeviceDescription | null>,
): Promise<PoolHardware[]> {
  const described = new Map<string, Promise<DeviceDescription | null>>();
  const foundOf = (device: WorkerDevice) => {
    const key = deviceKey(device);
    const found = described.get(key) ?? describe(device);
    described.set(key, found);
    return found;
  };
  const all: PoolHardware[] = [];
  const pooled = poolBySlot(pools, devices.length);
  for (const [pool, { name, measuredOn = null }] of pools.entries()) {
    const own = devices.filter((_, slot) => pooled[slot] === pool);
    for (const device of distinctDevices(own)) {
      const workers = own.filter((one) => deviceKey(one) === deviceKey(device)).length;
      const found = await foundOf(device);
      const match = matchOf(device, found, measuredOn);
      all.push({ pool: name, workers, device, found, measuredOn, match });
    }
  }
  return all;
}

function matchOf(
  { provider }: WorkerDevice,
  found: DeviceDescription | null,
  measuredOn: MeasuredDevice | null,
): HardwareMatch {
  if (measuredOn === null) return "unknown";
  if (measuredOn.provider !== provider) return "other";
  if (found === null) return "unknown";
  if (measuredOn.name !== found.name) return provider === "cpu" ? "processor" : "other";
  return measuredOn.driver === found.driver ? "same" : "driver";
}

/** Describes workers whose hardware makes the promises void; null if there are no such workers. */
export function otherHardware(hardware: readonly PoolHardware[]): string | null {
  const other = hardware.find(({ match }) => match === "other");
  if (other === undefined) return null;
  const { pool, device } = other;
  return (
    `the pool "${pool}" was measured on ${measuredText(other)} and its workers are on ` +
    `${foundText(other)}, where its promises do not hold; measure it there ` +
    `(stratagem profile --device ${device.provider}) and compile again, or serve with ` +
    "--accept-other-hardware"
  );
}

/** Describes other differences that an operator should know. */
export function hardwareNotices(hardware: readonly PoolHardware[]): string[] {
  return hardware
    .filter(({ match }) => match === "driver" || match === "processor" || match === "other")
    .map((one) => {
      const what = one.match === "driver" ? "another driver" : "other hardware";
      return (
        `the pool "${one.pool}" runs on ${what} than was measured: on ${foundText(one)}, ` +
        `measured on ${measuredText(one)}; its promises may not hold`
      );
    });
}

/** ` on cpu`, or `: 2 on webgpu (SwiftShader, driver 5.0.0), 1 on cpu`. */
export function hardwareText(hardware: readonly PoolHardware[]): string {
  const workersByText = new Map<string, number>();
  for (const one of hardware) {
    // Only /metrics has the processor's name: there is one, and its operator knows it.
    const text = one.device.provider === "cpu" ? "cpu" : foundText(one);
    workersByText.set(text, (workersByText.get(text) ?? 0) + one.workers);
  }
  if (workersByText.size === 0) return " on other machines";
  const [only] = workersByText.keys();
  if (workersByText.size === 1) return ` on ${only}`;
  const parts = Array.from(workersByText, ([text, workers]) => `${workers} on ${text}`);
  return `: ${parts.join(", ")}`;
}

/** Hardware as shown by `serve --json` and to administrators. */
export function hardwareJson(hardware: readonly PoolHardware[]): object[] {
  return hardware.map(({ pool, workers, device, found, measuredOn, match }) => {
    return {
      pool,
      workers,
      device: deviceText(device),
      ...nameAndDriver(found),
      measuredOn,
      match,
    };
  });
}

/** One sample for each device of each pool. */
export function hardwareLines(hardware: readonly PoolHardware[]): MetricLine[] {
  if (hardware.length === 0) return [];
  const name = "stratagem_pool_device_info";
  const samples = hardware.map((one) => {
    const { pool, device, measuredOn, match } = one;
    const { name: found, driver } = nameAndDriver(one.found);
    const measured = measuredOn === null ? "" : measuredText(one);
    const labels = { pool, device: deviceText(device), name: found ?? "", driver: driver ?? "" };
    return line(name, { ...labels, measured, match }, 1);
  });
  return [head(name, "gauge", "Hardware of the workers, and of their measurements"), ...samples];
}

function nameAndDriver(found: DeviceDescription | null): {
  name: string | null;
  driver: string | null;
} {
  return { name: found?.name ?? null, driver: found?.driver ?? null };
}

function foundText({ device, found }: PoolHardware): string {
  return found === null ? deviceText(device) : `${deviceText(device)} (${descriptionText(found)})`;
}

function measuredText({ measuredOn }: PoolHardware): string {
  return measuredOn === null ? "" : `${measuredOn.provider} (${descriptionText(measuredOn)})`;
}
