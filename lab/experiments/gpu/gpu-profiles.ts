/** Published latencies of two families of models on GPUs, as specs of one task. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readReference } from "../harness/reference.ts";

/**
 * Sentiment: language models, of which a batch of 16 takes hardly longer than one query. Detection:
 * detectors, whose latency grows with the batch.
 */
export const FAMILIES = ["sentiment", "detection"] as const;
export type Family = (typeof FAMILIES)[number];

export const GPU = "gpu_ampere";
/** About three times what the slowest variant takes alone. */
export const SLO_MS = 100;

interface Measured {
  readonly name: string;
  readonly accuracy: number;
  /** By hardware, then by batch size. */
  readonly latencies: Readonly<Record<string, Readonly<Record<string, { p90Ms: number }>>>>;
}

/** As in a profile. */
export interface GpuVariant {
  readonly name: string;
  readonly accuracy: number;
  readonly latencyMs: Readonly<Record<string, number>>;
}

export function gpuVariants(family: Family): readonly GpuVariant[] {
  const { families } = readReference<{ families: Record<string, readonly Measured[]> }>(
    "peers/gpu-profiles.json",
  );
  return (families[family] ?? []).map(({ name, accuracy, latencies }) => {
    const rows = Object.entries(latencies[GPU] ?? {});
    const latencyMs = Object.fromEntries(rows.map(([batch, { p90Ms }]) => [batch, p90Ms]));
    return { name, accuracy, latencyMs };
  });
}

/** The same models as they are without batches. */
export function oneByOne(variants: readonly GpuVariant[]): readonly GpuVariant[] {
  return variants.map((variant) => {
    return { ...variant, latencyMs: { 1: variant.latencyMs["1"] ?? Number.NaN } };
  });
}

/** Queries/s of one GPU with the fastest variant, in batches whose two times fit the SLO. */
export function mostQps(variants: readonly GpuVariant[]): number {
  const rates = variants.flatMap(({ latencyMs }) =>
    Object.entries(latencyMs)
      .filter(([, ms]) => 2 * ms <= SLO_MS)
      .map(([batch, ms]) => (1000 * Number(batch)) / ms),
  );
  return Math.max(...rates);
}

export interface GpuSpec {
  readonly variants: readonly GpuVariant[];
  readonly loads: readonly number[];
  /** As in a spec. */
  readonly slo?: object;
  readonly cluster: object;
  readonly policy: object;
}

/** Writes app.yaml and its profile. @returns the path of app.yaml. */
export function writeGpuApp(folder: string, spec: GpuSpec): string {
  mkdirSync(folder, { recursive: true });
  const { variants, loads, slo, cluster, policy } = spec;
  const byName = Object.fromEntries(variants.map(({ name, ...rest }) => [name, rest]));
  const profile = { format: "latency-profile/1", hardware: GPU, variants: byName };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const app = {
    version: 1,
    application: "gpu",
    slo: { latency: `${SLO_MS} ms`, ...slo },
    workload: { arrivals: { process: "poisson" }, loads },
    cluster,
    tasks: [
      {
        name: "task",
        variants: variants.map(({ name }) => ({ name, profile: `profile.json#${name}` })),
      },
    ],
    policy,
  };
  const path = join(folder, "app.yaml");
  writeFileSync(path, JSON.stringify(app));
  return path;
}
