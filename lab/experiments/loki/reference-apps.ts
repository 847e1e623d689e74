/** The reference pipelines, compiled as users would, and how much they carry. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { baselineBundle } from "stratagem/internal/methods/loki/simulate-command";
import type { LokiBundle, LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import { compiled, stratagemJson } from "../harness/cli.ts";
import { present } from "../harness/numbers.ts";
import { readReference, writeReferenceApp } from "../harness/reference.ts";

/** Levels lie this close in accuracy. */
const MAX_ACCURACY_STEP = "1%";

export type PipelineName = "traffic_chain" | "traffic_tree" | "social_media_1500";

export interface PlacedBundle {
  readonly bundle: LokiBundle;
  readonly capacityQps: number;
  /** What the most accurate variants alone carry; 0 if nothing. */
  readonly hardwareQps: number;
}

interface AppOptions {
  /** A list, or the mapping of a spec. */
  readonly loads: readonly number[] | Readonly<Record<string, number | string>>;
  readonly sloMs?: number;
  readonly policy?: object;
}

/** Writes specs into one folder. */
export class ReferenceApps {
  readonly #folder: string;
  #count = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Levels placed by accuracy over all that the cluster can carry, and the capacities. */
  async placed(
    name: PipelineName,
    { sloMs, policy = {} }: Omit<AppOptions, "loads"> = {},
  ): Promise<PlacedBundle> {
    const own = sloMs ?? readReference<{ sloMs: number }>(`loki/inputs/${name}.json`).sloMs;
    // One level far beyond tells the capacity.
    const probe = await compiled("loki", this.write(name, { loads: [1, 1e6], sloMs: own }));
    const { capacityQps } = lastLevel(probe.bundle);
    const hardware = await baselineOf(probe.bundle, "inferline").catch(() => null);
    const loads = {
      from: Math.max(1, Math.round(capacityQps / 200)),
      to: Number(capacityQps.toFixed(3)) - 0.001,
      maxAccuracyStep: MAX_ACCURACY_STEP,
    };
    const { bundle } = await compiled("loki", this.write(name, { loads, sloMs: own, policy }));
    const hardwareQps = hardware === null ? 0 : present(lastLevel(hardware).plan).demandQps;
    return { bundle, capacityQps, hardwareQps };
  }

  /** @returns the path of a spec. */
  write(name: PipelineName, { loads, sloMs, policy = {} }: AppOptions): string {
    const out = join(this.#folder, String(this.#count++));
    const list = Array.isArray(loads) ? loads : [1];
    const app = writeReferenceApp("loki", out, [
      ...["--input", `loki/inputs/${name}.json`, "--loads", list.join(",")],
      ...["--policy", JSON.stringify(policy)],
    ]);
    const spec = JSON.parse(readFileSync(app, "utf8"));
    spec.workload.loads = loads;
    if (sloMs !== undefined) spec.slo.latency = `${sloMs} ms`;
    writeFileSync(app, JSON.stringify(spec));
    return app;
  }
}

/** What `compile --json` says of levels, times of solving included. */
export interface CompileReport {
  readonly compileMs: number;
  readonly levels: readonly (Pick<LokiLevel, "feasible" | "plan" | "capacityQps"> & {
    readonly solve: { readonly status: string; readonly ms: number };
  })[];
}

export function compileReport(app: string): Promise<CompileReport> {
  return stratagemJson<CompileReport>("compile", app, "-o", app.replace(/\.yaml$/, ".msgpack"));
}

export function lastLevel({ levels }: LokiBundle): LokiLevel {
  return present(levels.at(-1));
}

/** The same loads, planned as another system does. */
export function baselineOf(
  bundle: LokiBundle,
  baseline: "inferline" | "proteus",
): Promise<LokiBundle> {
  const { signal } = new AbortController();
  return baselineBundle(bundle, baseline, { jobs: 2, onProgress: () => {}, signal });
}

export function dropping(bundle: LokiBundle, drop: LokiBundle["policy"]["drop"]): LokiBundle {
  return { ...bundle, policy: { ...bundle.policy, drop } };
}
