/** All settings of `serve`: its flags, variables, keys of its file, and the table of the docs. */

import { FEATURES } from "../features/features.ts";
import type { Setting, SettingGroup, ValueOf } from "../kinds/setting.ts";
import { ACCESS } from "./access.ts";
import { LIMITS } from "./limits.ts";
import { LOGS } from "./logs.ts";
import { GRPC, SERVED, SOURCES } from "./served.ts";
import { TRUST } from "./trust.ts";
import { CLUSTER, WORKERS } from "./workers.ts";

/** Intersection of the types of a union. */
type All<U> = (U extends unknown ? (one: U) => void : never) extends (one: infer A) => void
  ? A
  : never;
type Feature = (typeof FEATURES)[number];

const OF_FEATURES = FEATURES.map(({ title, settings }) => ({ title, settings }));
const ALL_LIMITS: Readonly<Record<string, Setting>> = Object.assign(
  {},
  LIMITS,
  ...FEATURES.map(({ limits }) => limits),
);

export const SETTING_GROUPS: readonly SettingGroup[] = [
  { title: "Bundles and addresses", settings: SERVED },
  { title: "Sources of bundles", settings: SOURCES },
  { title: "gRPC", settings: GRPC },
  { title: "Access control", settings: ACCESS },
  { title: "Signatures", settings: TRUST },
  { title: "Workers", settings: WORKERS },
  { title: "Cluster", settings: CLUSTER },
  { title: "Log", settings: LOGS },
  ...OF_FEATURES.filter(({ settings }) => Object.keys(settings).length > 0),
  { title: "Limits", settings: ALL_LIMITS },
];

const OWN = {
  ...{ ...SERVED, ...SOURCES, ...GRPC, ...ACCESS },
  ...{ ...TRUST, ...WORKERS, ...CLUSTER, ...LIMITS, ...LOGS },
};
type Table = typeof OWN & All<Feature["settings"]> & All<Feature["limits"]>;

export const SETTINGS: Readonly<Record<string, Setting>> = Object.assign(
  {},
  ...SETTING_GROUPS.map(({ settings }) => settings),
);

/** Whether a setting is written as `--limit name=value`, and under `limits` in a file. */
export function isLimit(key: string): boolean {
  return Object.hasOwn(ALL_LIMITS, key);
}

export const LIMIT_NAMES: readonly string[] = Object.keys(ALL_LIMITS);

export type SettingValues = { readonly [K in keyof Table]: ValueOf<Table[K]> };
