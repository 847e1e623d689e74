/** The applications that are checked, their specs for this device, and profiles made for them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { stratagem } from "../experiments/harness/cli.ts";
import { present } from "../experiments/harness/numbers.ts";
import type { Settings } from "./settings.ts";

export type ApplicationName = "letters" | "scenes" | "malleable";

/** Latencies of a profile, ms. */
export type Profiled = Readonly<
  Record<string, { readonly latencyMs: Readonly<Record<string, { p50: number; p95: number }>> }>
>;

interface SpecVariant {
  readonly name: string;
  readonly accuracy: number | string;
  readonly model: string;
  readonly fanout?: number;
}

/** What of a spec is read or replaced here; the rest stays as it is. */
interface Spec {
  readonly slo: { readonly latency: string };
  readonly workload: object;
  readonly cluster: { readonly workers?: number; readonly pools?: readonly { workers: number }[] };
  readonly tasks: readonly { readonly name: string; readonly variants: readonly SpecVariant[] }[];
  readonly policy: {
    readonly method: string;
    readonly maxQueue?: number;
    readonly accuracyOf?: { readonly table: Readonly<Record<string, string>> };
  };
}

/** Models that a quick check keeps; of malleable pipelines letters' models take their place. */
const QUICK: readonly string[] = ["mlp-s", "cnn-xs", "cnn-s", "detector-s"];
const QUICK_MALLEABLE = ["cnn-xs", "cnn-s"];

/** Batches of the profile; a queue holds as many as the largest. */
const BATCHES = [1, 2, 4, 8, 16, 32, 64];
const QUICK_BATCHES = [1, 2, 4];

export function batchesOf(settings: Settings): readonly number[] {
  return settings.isQuick ? QUICK_BATCHES : BATCHES;
}

/** A spec's tasks and their variants as they are checked here. */
export function readApplication(name: ApplicationName, settings: Settings): Spec {
  const spec = readSpec(name);
  if (!settings.isQuick) return spec;
  const isQuick = (each: SpecVariant) => QUICK.includes(each.name);
  const tasks = spec.tasks.map((task) => ({ ...task, variants: task.variants.filter(isQuick) }));
  if (name !== "malleable") return { ...spec, tasks };
  const letters = present(readSpec("letters").tasks[0]).variants;
  const variants = letters.filter((each) => QUICK_MALLEABLE.includes(each.name));
  return { ...spec, tasks: [{ ...present(spec.tasks[0]), variants }] };
}

function readSpec(name: ApplicationName): Spec {
  return parse(readFileSync(`policies/${name}/app.yaml`, "utf8")) as Spec;
}

/** What a spec is written for. */
export interface Purpose {
  readonly loadsQps: readonly number[];
  readonly sloMs: number;
  /** Of a spec of one of its variants only; left out for all. */
  readonly only?: string;
  readonly maxQueue?: number;
}

/** Writes a spec for this device. @returns its path. */
export function writeSpec(
  name: ApplicationName,
  settings: Settings,
  { loadsQps, sloMs, only, maxQueue }: Purpose,
): string {
  const spec = readApplication(name, settings);
  const profile = profilePath(name, settings);
  const tasks = spec.tasks.map((task) => ({
    ...task,
    variants: task.variants
      .filter((variant) => only === undefined || variant.name === only)
      .map((variant) => ({
        ...variant,
        model: path.resolve("policies", name, variant.model),
        profile: `${profile}#${variant.name}`,
      })),
  }));
  const { pools } = spec.cluster;
  const here = pools?.map((pool) => ({ ...pool, hardware: settings.hardware }));
  const written = {
    ...spec,
    slo: { ...spec.slo, latency: `${sloMs} ms` },
    workload: { ...spec.workload, loads: loadsQps },
    cluster: here === undefined ? spec.cluster : { pools: here },
    tasks,
    policy: policyOf(spec, settings, maxQueue),
  };
  mkdirSync(settings.work, { recursive: true });
  const file = path.join(settings.work, `${name}${only === undefined ? "" : `-${only}`}.json`);
  writeFileSync(file, JSON.stringify(written, null, 2));
  return file;
}

function policyOf({ policy, tasks }: Spec, settings: Settings, maxQueue?: number): object {
  const longest = Math.max(...batchesOf(settings), policy.maxQueue ?? 0);
  const queue = policy.maxQueue === undefined ? {} : { maxQueue: maxQueue ?? longest };
  if (policy.accuracyOf === undefined) return { ...policy, ...queue };
  const names = new Set(tasks.flatMap(({ variants }) => variants.map((variant) => variant.name)));
  const paths = Object.entries(policy.accuracyOf.table);
  const table = paths.filter(([key]) => key.split("|").every((variant) => names.has(variant)));
  return { ...policy, ...queue, accuracyOf: { table: Object.fromEntries(table) } };
}

function profilePath(name: ApplicationName, settings: Settings): string {
  return path.join(settings.out, `${name}.json`);
}

/** How long profiling may take, and how often it runs each batch. */
const BUDGET: Readonly<Record<ApplicationName, readonly string[]>> = {
  letters: ["--budget", "60s"],
  scenes: ["--budget", "25s"],
  malleable: ["--layers", "--repeat", "30"],
};
const QUICK_BUDGET: Readonly<Record<ApplicationName, readonly string[]>> = {
  letters: ["--repeat", "5", "--budget", "15s"],
  scenes: ["--repeat", "5", "--budget", "15s"],
  malleable: ["--layers", "--repeat", "3"],
};
/** Queries of scenes are large, and so are their batches. */
const MOST_SCENES = 16;

/** Measures an application's models on this device, unless that was done. */
export async function profiled(name: ApplicationName, settings: Settings): Promise<Profiled> {
  const out = profilePath(name, settings);
  if (!existsSync(out)) {
    mkdirSync(settings.out, { recursive: true });
    const app = writeSpec(name, settings, { loadsQps: [1], sloMs: 1000 });
    const most = name === "letters" ? Infinity : MOST_SCENES;
    const batches = batchesOf(settings).filter((batch) => batch <= most);
    const how = [
      ...["--device", settings.device, "--hardware", settings.hardware, "--force"],
      ...(name === "malleable" ? [] : ["--batches", batches.join()]),
      ...(settings.isQuick ? QUICK_BUDGET : BUDGET)[name],
    ];
    await stratagem("profile", app, "-o", out, ...how);
  }
  // A few runs have a maximum in place of a p95.
  return JSON.parse(readFileSync(out, "utf8"), (_, value) => {
    return value?.p50 === undefined ? value : { p95: value.max, ...value };
  }).variants;
}

/** The profiles that a run left before are of another run, and maybe of another device. */
export const PROFILES = (["letters", "scenes", "malleable"] as const).flatMap((name) => [
  `${name}.json`,
  `${name}.json.measurement.json`,
  `${name}.json.partial`,
]);
