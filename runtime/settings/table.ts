/** All settings of `serve`: its flags, variables, keys of its file, and the table of the docs. */
import { ACCESS } from "./access.ts";
import { CANARY } from "./canary.ts";
import { CLUSTER } from "./cluster.ts";
import { GRPC } from "./grpc.ts";
import { LIMITS } from "./limits.ts";
import { SERVED } from "./served.ts";
import type { Setting, SettingGroup, ValueOf } from "./setting.ts";
import { SOURCES } from "./sources.ts";
import { TELEMETRY } from "./telemetry.ts";
import { TRUST } from "./trust.ts";
import { WORKERS } from "./workers.ts";

export const SETTING_GROUPS: readonly SettingGroup[] = [
  { title: "What is served, and where", settings: SERVED },
  { title: "Bundles of sources", settings: SOURCES },
  { title: "A bundle on trial", settings: CANARY },
  { title: "gRPC", settings: GRPC },
  { title: "Who may come in", settings: ACCESS },
  { title: "Whose bundles are followed", settings: TRUST },
  { title: "Workers", settings: WORKERS },
  { title: "Workers of a cluster", settings: CLUSTER },
  { title: "Limits", settings: LIMITS },
  { title: "Logs, traces and metrics", settings: TELEMETRY },
];

const TABLE = {
  ...{ ...SERVED, ...SOURCES, ...CANARY, ...GRPC, ...ACCESS },
  ...{ ...TRUST, ...WORKERS, ...CLUSTER, ...LIMITS, ...TELEMETRY },
};
export const SETTINGS: Readonly<Record<string, Setting>> = TABLE;

/** Whether a setting is written as `--limit name=value`, and under `limits` in a file. */
export function isLimit(key: string): boolean {
  return Object.hasOwn(LIMITS, key);
}

/** Names of all limits. */
export const LIMIT_NAMES: readonly string[] = Object.keys(LIMITS);

export type SettingValues = { readonly [K in keyof typeof TABLE]: ValueOf<(typeof TABLE)[K]> };
