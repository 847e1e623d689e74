/** The applications that are simulated at other paces: ours, published ones and random ones. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { stringify } from "yaml";
import { stratagem } from "../harness/cli.ts";
import type { Run } from "../harness/experiment.ts";
import { readReference } from "../harness/reference.ts";

export interface PacedApplication {
  readonly name: string;
  readonly app: string;
  readonly bundle: string;
  readonly loadsQps: readonly number[];
  /** Baselines at the same cost. */
  readonly rivals: readonly string[];
}

interface Made {
  readonly sloMs: number;
  readonly workers: number;
  readonly loadsQps: readonly number[];
  readonly variants: Readonly<
    Record<string, { readonly accuracy: number; readonly latencyMs: object }>
  >;
}

const RULES = ["greedy", "symphony", "slackfit", "clockwork", "nexus", "infaas", "model-switching"];
const LETTERS = ["cnn-s", "cnn-m", "cnn-l", "cnn-xl"].map((name) => `fixed:${name}`);
const IMAGENET = ["efficientnet_b0", "efficientnet_b3", "efficientnet_v2_s"].map(
  (name) => `fixed:${name}`,
);

/** Name, loads and rivals of policies of this repository. */
const OURS = {
  letters: { loadsQps: [430, 860, 1300], rivals: [...RULES, ...LETTERS] },
  "image-classification": { loadsQps: [800, 1600, 2400], rivals: [...RULES, ...IMAGENET] },
  scenes: { loadsQps: [240, 480, 720], rivals: ["inferline", "proteus"] },
  cascade: { loadsQps: [100, 300], rivals: [] },
  scaling: { loadsQps: [105, 180], rivals: [] },
  malleable: { loadsQps: [5, 20], rivals: ["slo-conforming", "fastest", "bbs", "one-stage"] },
} as const;

/** Makes what there is not, and leaves out what `--app` does not name. */
export async function applicationsOnTrial({ flags, folder }: Run): Promise<PacedApplication[]> {
  const wanted = flags.texts("app");
  const isWanted = (name: string) => wanted === undefined || wanted.includes(name);
  const ours = Object.entries(OURS).map(([name, { loadsQps, rivals }]) => {
    const [app, bundle] = [`policies/${name}/app.yaml`, `policies/${name}/bundle.msgpack`];
    return { name, app, bundle, loadsQps, rivals };
  });
  const made = [
    ...["sentiment", "qa"].map((family) => [`gpu-${family}`, () => gpu(family)] as const),
    ...[1, 2, 3].map((seed) => [`random-${seed}`, () => random(seed)] as const),
  ];
  const applications: PacedApplication[] = ours.filter(({ name }) => isWanted(name));
  for (const [name, make] of made.filter(([one]) => isWanted(one))) {
    applications.push(await written(name, make(), join(folder, name)));
  }
  return applications;
}

async function written(name: string, made: Made, folder: string): Promise<PacedApplication> {
  const { sloMs, workers, loadsQps, variants } = made;
  mkdirSync(folder, { recursive: true });
  const [app, bundle] = [join(folder, "app.yaml"), join(folder, "bundle.msgpack")];
  const profile = join(folder, "profile.json");
  writeFileSync(profile, JSON.stringify({ format: "latency-profile/1", hardware: name, variants }));
  const names = Object.keys(variants);
  const spec = {
    version: 1,
    application: name,
    slo: { latency: `${sloMs} ms` },
    workload: { arrivals: { process: "poisson" }, loads: loadsQps },
    cluster: { workers },
    tasks: [
      { name: "t", variants: names.map((one) => ({ name: one, profile: `${profile}#${one}` })) },
    ],
    policy: { method: "ramsis" },
  };
  writeFileSync(app, stringify(spec));
  await stratagem("compile", app, "-o", bundle);
  const rivals = [...RULES, ...names.slice(-4).map((one) => `fixed:${one}`)];
  return { name, app, bundle, loadsQps, rivals };
}

interface GpuProfiles {
  readonly families: Readonly<
    Record<
      string,
      readonly {
        readonly name: string;
        readonly accuracy: number;
        readonly latencies: Readonly<
          Record<string, Readonly<Record<string, { p50Ms: number; p90Ms: number; meanMs: number }>>>
        >;
      }[]
    >
  >;
}

/** On one Ampere GPU, at 30 to 75 % of what the slowest variant carries in batches of 8. */
function gpu(family: string): Made {
  const { families } = readReference<GpuProfiles>("peers/gpu-profiles.json");
  const known = families[family] ?? Object.values(families)[1] ?? [];
  const variants = Object.fromEntries(
    known.map(({ name, accuracy, latencies }) => {
      const rows = Object.entries(latencies["gpu_ampere"] ?? {});
      const latencyMs = rows.map(([batch, { p50Ms, p90Ms }]) => {
        return [batch, { p50: p50Ms, p95: p90Ms, p99: 1.02 * p90Ms, mean: p50Ms, samples: 100 }];
      });
      return [name, { accuracy, latencyMs: Object.fromEntries(latencyMs) }];
    }),
  );
  const slowest = Math.max(
    ...known.map(({ latencies }) => latencies["gpu_ampere"]?.["8"]?.p50Ms ?? 0),
  );
  const loadsQps = [0.4, 0.9, 1.5].map((part) => Math.round((part * 8000) / slowest));
  return { sloMs: Math.ceil(5 * slowest), workers: 1, loadsQps, variants };
}

/** Three to six variants, of which slower ones are more accurate. */
function random(seed: number): Made {
  const rng = new Rng(seed, 0);
  const count = 3 + Math.floor(4 * rng.nextFloat());
  const workers = 1 + Math.floor(8 * rng.nextFloat());
  let [ms, accuracy] = [1 + 4 * rng.nextFloat(), 0.6 + 0.2 * rng.nextFloat()];
  const variants: Record<string, { accuracy: number; latencyMs: object }> = {};
  for (let index = 0; index < count; index++) {
    const spread = 1.1 + 0.5 * rng.nextFloat();
    const fixed = 0.3 + 0.4 * rng.nextFloat();
    const latencyMs = [1, 2, 4, 8].map((batch) => {
      const p50 = ms * (fixed + (1 - fixed) * batch);
      return [batch, { p50, p95: p50 * spread, p99: p50 * spread ** 1.5, mean: p50, samples: 200 }];
    });
    variants[`v${index}`] = { accuracy, latencyMs: Object.fromEntries(latencyMs) };
    ms *= 1.5 + rng.nextFloat();
    accuracy += (0.98 - accuracy) * (0.3 + 0.4 * rng.nextFloat());
  }
  const slowest = Object.values(variants).at(-1)?.latencyMs as Record<string, { p50: number }>;
  const slowestMs = slowest["1"]?.p50 ?? 1;
  const loadsQps = [0.6, 1.2, 2].map((part) => Math.round((part * 1000 * workers) / slowestMs));
  return { sloMs: Math.round((3 + 5 * rng.nextFloat()) * slowestMs), workers, loadsQps, variants };
}
