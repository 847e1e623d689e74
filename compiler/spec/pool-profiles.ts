/** Selects the profiles of a variant for a pool, and checks devices. */
import { descriptionText, parseDevice } from "stratagem-runtime/internal/bundle/schema";
import type { Application, Pool, Variant, VariantProfile } from "./application.ts";
import { conflict, type Mistake, show } from "./document/mistakes.ts";
import type { ApplicationSpec } from "./schema/application-schema.ts";

type PoolSpec = NonNullable<ApplicationSpec["cluster"]["pools"]>[number];

/**
 * Returns the devices of the pools. If any pool names a device, pools without one use CPUs;
 * otherwise devices are unknown.
 */
export function devicesOf(
  pools: readonly Pick<PoolSpec, "device">[],
): Pick<Pool, "device" | "provider">[] {
  const isSaid = pools.some(({ device }) => device !== undefined);
  return pools.map(({ device }) => {
    if (device === undefined) return isSaid ? { provider: "cpu" } : {};
    const parsed = parseDevice(device);
    if (parsed === null) throw new RangeError("expected a device");
    return { device, provider: parsed.provider };
  });
}

/** Returns the number of devices; one if they have no indices. */
export function workersOf({ workers, device }: Pick<PoolSpec, "workers" | "device">): number {
  const ids = device === undefined ? [] : (parseDevice(device)?.ids ?? []);
  if (Array.isArray(workers)) return workers.length;
  return workers ?? Math.max(1, ids.length);
}

/**
 * Finds the profile for a pool: of the hardware that it names, otherwise of its kind of device,
 * otherwise the only profile, or the only one for CPUs.
 */
export function profileFor(variant: Variant, pool: Pool): VariantProfile | null {
  const fitting = profilesFor(variant, pool);
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

/** Finds conflicts between the devices of pools and profiles. */
export function* poolDeviceMistakes({ cluster, tasks }: Application): Generator<Mistake> {
  for (const pool of cluster.pools) {
    let first: { readonly variant: string; readonly profile: VariantProfile } | null = null;
    for (const [task, { variants }] of tasks.entries()) {
      for (const [index, variant] of variants.entries()) {
        const path = ["tasks", task, "variants", index, "profile"];
        const fitting = profilesFor(variant, pool);
        if (fitting.length > 1) {
          const found = fitting.map(profileWords).join(", ");
          const message =
            `pool ${poolWords(pool)}: expected one profile of ${show(variant.name)} for it, ` +
            `got ${fitting.length}: ${found}; name the hardware of one of them in the pool`;
          yield conflict(path, message);
        }
        const [profile] = fitting;
        if (profile === undefined || fitting.length > 1) continue;
        if (isOfOtherKind(profile, pool)) {
          const message =
            `pool ${poolWords(pool)} uses ${pool.provider}, but ${show(variant.name)} was ` +
            `measured on ${profile.device?.provider} (${profileWords(profile)}); expected a ` +
            `profile of ${pool.provider}: stratagem profile --device ${pool.provider}`;
          yield conflict(path, message);
        } else if (profile.device !== undefined) {
          first ??= { variant: variant.name, profile };
          if (isSameDevice(profile, first.profile)) continue;
          const message =
            `pool ${poolWords(pool)}: expected all its variants measured on the same device, got ` +
            `${show(first.variant)} on ${deviceWords(first.profile)} and ` +
            `${show(variant.name)} on ${deviceWords(profile)}`;
          yield conflict(path, message);
        }
      }
    }
  }
}

/** Returns profiles that match the pool's hardware, even if they contradict its device. */
function profilesFor(
  { profiles }: Variant,
  { hardware, provider }: Pool,
): readonly VariantProfile[] {
  if (hardware !== null) {
    const named = profiles.filter((profile) => profile.hardware === hardware);
    return named.length > 1 ? ofKind(named, provider ?? "cpu") : named;
  }
  if (provider !== undefined) {
    const measured = ofKind(profiles, provider);
    if (measured.length > 0 || provider !== "cpu") return measured;
    // Profiles without a device were measured on CPUs.
    return profiles.filter(({ device }) => device === undefined);
  }
  return profiles.length > 1 ? ofKind(profiles, "cpu") : profiles;
}

function ofKind(profiles: readonly VariantProfile[], provider: string): VariantProfile[] {
  return profiles.filter(({ device }) => device?.provider === provider);
}

function isOfOtherKind({ device }: VariantProfile, { provider }: Pool): boolean {
  return device !== undefined && provider !== undefined && device.provider !== provider;
}

function isSameDevice(a: VariantProfile, b: VariantProfile): boolean {
  const [one, other] = [a.device, b.device];
  return (
    one?.provider === other?.provider && one?.name === other?.name && one?.driver === other?.driver
  );
}

/** Describes a pool for messages: its name, hardware and device. */
export function poolWords({ name, hardware, device }: Pool): string {
  const said = [hardware, device].filter((one) => one !== null && one !== undefined);
  return `${name} (${said.length === 0 ? "no hardware given" : said.join(", on ")})`;
}

/**
 * Suggests how to measure a missing profile for the pool's device; empty if the device is not the
 * reason.
 */
export function profileRemedy({ hardware, provider }: Pool): string {
  if (hardware !== null || provider === undefined) return "";
  return `; expected one of ${provider}: stratagem profile --device ${provider}`;
}

/** Describes a profile for messages. */
export function profileWords({ hardware, device }: VariantProfile): string {
  return device === undefined ? show(hardware) : `${show(hardware)} on ${device.provider}`;
}

function deviceWords({ device }: VariantProfile): string {
  if (device === undefined) return "no device";
  return `${device.provider} (${descriptionText(device)})`;
}
