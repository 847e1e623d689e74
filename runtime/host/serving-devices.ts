/** Devices of a bundle's workers: those of its pools, unless an option overrides them. */

import { RuntimeError } from "../base/errors.ts";
import type { Pool } from "../bundle/schema.ts";
import { DEVICE_FORM, PROVIDERS, type Provider, parseDevice } from "../bundle/schema.ts";
import { assert } from "../core/assert.ts";
import { AUTO } from "../exec/limits/first-provider.ts";
import {
  deviceText,
  type ProviderOptions,
  type WorkerDevice,
} from "../exec/models/worker-device.ts";
import { checkOptionsOfAny, optionsOf } from "../exec/onnx/provider-options.ts";

export interface DeviceOptions {
  /**
   * Device of every pool, such as "webgpu" or "cuda:0,1", or "auto" for the first provider that
   * runs the models; by default the devices in the bundle, otherwise processors.
   */
  readonly device?: string;
  /** Devices of single pools, by their names, before that. */
  readonly poolDevices?: Readonly<Record<string, string>>;
  /** Environment variables of all workers, or of those of one pool. */
  readonly workerEnvironment?: readonly WorkerVariable[];
  /** Options of providers: each applies to the workers whose provider knows it. */
  readonly providerOptions?: ProviderOptions;
}

export interface WorkerVariable {
  /** Null for all. */
  readonly pool: string | null;
  readonly name: string;
  readonly value: string;
}

/** Lists the devices of workers, such as "cpu" or "cuda:0, cpu". */
export function devicesText(devices: readonly WorkerDevice[]): string {
  return [...new Set(devices.map(deviceText))].join(", ");
}

/** Whether the provider of some pool has to be detected. */
export function isAuto({ device }: DeviceOptions): boolean {
  return device === AUTO;
}

/**
 * The pool of each worker slot, by index: slots are the workers of the pools in their order. A
 * bundle may use fewer workers than its pools have; one that counts cores has room for more
 * instances than workers, all in its one pool.
 */
export function poolBySlot(
  pools: readonly Pick<Pool, "workers">[],
  workerCount: number,
): readonly number[] {
  const ofWorkers = pools.flatMap(({ workers }, pool) => new Array<number>(workers).fill(pool));
  return Array.from({ length: workerCount }, (_, slot) => ofWorkers[slot] ?? pools.length - 1);
}

/**
 * Returns the device per worker slot. Workers of a pool take turns on its devices.
 * @param found provider that "auto" stands for.
 * @throws RuntimeError RUNTIME_USAGE for a device that is unknown.
 */
export function servingDevices(
  pools: readonly Pick<Pool, "name" | "workers" | "device">[],
  workerCount: number,
  options: DeviceOptions,
  found: Provider = "cpu",
): WorkerDevice[] {
  const { workerEnvironment = [], providerOptions = {} } = options;
  const taken = pools.map(() => 0);
  const turns = pools.map((pool) => {
    const text = deviceOfPool(pool, options);
    const { provider, ids } = deviceOf(text === AUTO ? found : text, pool.name);
    const own = workerEnvironment.filter(({ pool: of }) => of === null || of === pool.name);
    const environment = Object.fromEntries(own.map(({ name, value }) => [name, value]));
    const set = { provider, environment, options: optionsOf(provider, providerOptions) };
    return (turn: number): WorkerDevice => ({ ...set, id: ids[turn % ids.length] ?? null });
  });
  return poolBySlot(pools, workerCount).map((pool) => {
    const deviceOfTurn = turns[pool];
    assert(deviceOfTurn !== undefined, "a worker belongs to a known pool");
    const turn = taken[pool] ?? 0;
    taken[pool] = turn + 1;
    return deviceOfTurn(turn);
  });
}

function deviceOfPool(
  { name, device }: Pick<Pool, "name" | "device">,
  { device: ofAll, poolDevices = {} }: DeviceOptions,
): string {
  return poolDevices[name] ?? ofAll ?? device ?? "cpu";
}

function deviceOf(text: string, pool: string) {
  const device = parseDevice(text);
  if (device !== null) return device;
  const message = `the device of the pool "${pool}": expected ${DEVICE_FORM}, got "${text}"`;
  throw new RuntimeError("RUNTIME_USAGE", message);
}

/**
 * @param pools of all bundles. @throws RuntimeError RUNTIME_USAGE if an option names an unknown
 * pool.
 */
export function expectPools(
  pools: readonly Pick<Pool, "name">[],
  { poolDevices = {}, workerEnvironment = [] }: DeviceOptions,
): void {
  const asked = [
    ...Object.keys(poolDevices).map((name) => ["--device", name] as const),
    ...workerEnvironment.map(({ pool }) => ["--worker-env", pool] as const),
  ];
  for (const [flag, name] of asked) {
    if (name === null || pools.some((pool) => pool.name === name)) continue;
    const known = pools.map((pool) => pool.name).join(", ");
    throw new RuntimeError("RUNTIME_USAGE", `${flag}: expected a pool (${known}), got "${name}"`);
  }
}

/**
 * @param pools of all bundles. @throws RuntimeError RUNTIME_USAGE for an option that no provider of
 * their workers takes.
 */
export function expectOptions(
  pools: readonly Pick<Pool, "name" | "device">[],
  options: DeviceOptions,
): void {
  const { providerOptions = {} } = options;
  const providers = pools.flatMap((pool) => {
    const text = deviceOfPool(pool, options);
    // An option has to suit only the provider that takes it, whichever is detected.
    return text === AUTO ? PROVIDERS : deviceOf(text, pool.name).provider;
  });
  const mistake = checkOptionsOfAny([...new Set(providers)], providerOptions);
  if (mistake !== null) throw new RuntimeError("RUNTIME_USAGE", `--provider-options: ${mistake}`);
}
