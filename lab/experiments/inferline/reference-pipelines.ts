/**
 * Pipelines of InferLine's authors as application specs, on CPUs and K80s as in the paper's
 * cluster.
 *
 * What is pinned here, because the authors' measurements leave it open:
 *  - a worker of a pool has one CPU; what was measured with two (res152 at batch 10) is left out;
 *  - a batch is the rounded mean of the batches that ran, its latency mean batch over throughput: a
 *    mean, not a percentile; of two that round to the same size, the nearer counts;
 *  - the PyTorch runs do not say which GPU they had: they count as K80;
 *  - log-reg ran on a GPU instance but on its CPU, and the authors' plans pay for a CPU only: it is
 *    on the cpu pool;
 *  - accuracy plays no part: it is 1. No measurement exists of the cascade's preprocess stage: it
 *    is left out. The share of its edge is not published: it is a half.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { present } from "../harness/numbers.ts";
import { readReference } from "../harness/reference.ts";

const HARDWARE = ["cpu", "k80"] as const;
type Hardware = (typeof HARDWARE)[number];
const WORKERS: Readonly<Record<Hardware, number>> = { cpu: 1000, k80: 128 };
/** Models whose GPU instance was not what they ran on. */
const RUNS_ON_CPU = ["tf-log-reg"];

export type PipelineName = "image" | "cascade";

interface TaskSpec {
  readonly name: string;
  readonly passThrough?: true;
  readonly model?: string;
  readonly to?: readonly { readonly task: string; readonly share?: number }[];
}

/** Names of tasks and the models that they run; edges as in the authors' profiler. */
const PIPELINES: Readonly<Record<PipelineName, readonly TaskSpec[]>> = {
  image: [
    { name: "source", passThrough: true, to: [{ task: "resnet" }, { task: "inception" }] },
    { name: "resnet", model: "tf-resnet-feats", to: [{ task: "ksvm" }] },
    { name: "inception", model: "tf-inception", to: [{ task: "logreg" }] },
    { name: "ksvm", model: "tf-kernel-svm" },
    { name: "logreg", model: "tf-log-reg" },
  ],
  cascade: [
    { name: "alexnet", model: "pytorch-alexnet", to: [{ task: "res152", share: 0.5 }] },
    { name: "res152", model: "pytorch-res152" },
  ],
};

interface Measured {
  readonly cpus: number;
  readonly gpus: number;
  readonly mean_batch: number;
  readonly batch_service_ms: number;
}

interface Authors {
  readonly _source: unknown;
  readonly profiles: readonly { readonly model: string; readonly rows: readonly Measured[] }[];
  readonly prices_per_hour: {
    readonly aws: { readonly physical_cpu: number; readonly k80: number };
  };
}

/** As in a profile. */
type Variants = Record<string, { accuracy: 1; latencyMs: Record<string, number> }>;

interface ReferenceSpec {
  readonly sloMs: number;
  readonly loads: readonly number[];
  /** As in a spec. */
  readonly arrivals: object;
  /** Beside its method. */
  readonly policy: object;
}

/** Writes app.yaml and a profile for each kind of hardware. @returns the path of app.yaml. */
export function writePipeline(pipeline: PipelineName, spec: ReferenceSpec, folder: string): string {
  const authors = readReference<Authors>("inferline/inferline_authors_profiles.json");
  const tasks = PIPELINES[pipeline];
  const models = tasks.flatMap(({ model }) => model ?? []);
  const measured = measurements(authors, models);
  mkdirSync(folder, { recursive: true });
  for (const hardware of HARDWARE) {
    const variants = measured[hardware];
    const profile = { format: "latency-profile/1", hardware, source: authors._source, variants };
    writeFileSync(join(folder, `${hardware}.json`), JSON.stringify(profile, null, 2));
  }
  const app = {
    version: 1,
    application: `inferline-${pipeline}`,
    slo: { latency: `${spec.sloMs} ms` },
    workload: { arrivals: spec.arrivals, loads: spec.loads },
    cluster: { pools: pools(authors.prices_per_hour.aws) },
    tasks: tasks.map(({ model, ...task }) =>
      model === undefined ? task : { ...task, variants: [variant(model, measured)] },
    ),
    policy: { method: "inferline", ...spec.policy },
  };
  const path = join(folder, "app.yaml");
  // JSON is YAML.
  writeFileSync(path, JSON.stringify(app, null, 2));
  return path;
}

/** Latency by batch, of each model on each kind of hardware that it was measured on. */
function measurements({ profiles }: Authors, models: readonly string[]) {
  const byHardware: Record<Hardware, Variants> = { cpu: {}, k80: {} };
  for (const model of models) {
    const { rows } = present(profiles.find((profile) => profile.model === model));
    const oneCpu = rows.filter(({ cpus }) => cpus === 1);
    const isCpu = ({ gpus }: Measured) => gpus === 0 || RUNS_ON_CPU.includes(model);
    const onCpu = oneCpu.filter(isCpu);
    const onGpu = oneCpu.filter((row) => !isCpu(row));
    if (onCpu.length > 0) byHardware.cpu[model] = variantOf(onCpu);
    if (onGpu.length > 0) byHardware.k80[model] = variantOf(onGpu);
  }
  return byHardware;
}

function variantOf(rows: readonly Measured[]): Variants[string] {
  const nearest = new Map<number, Measured>();
  for (const row of rows) {
    const batch = Math.round(row.mean_batch);
    const other = nearest.get(batch);
    if (other && Math.abs(other.mean_batch - batch) <= Math.abs(row.mean_batch - batch)) continue;
    nearest.set(batch, row);
  }
  const latencyMs = [...nearest].map(([batch, row]) => [batch, row.batch_service_ms]);
  return { accuracy: 1, latencyMs: Object.fromEntries(latencyMs) };
}

function pools({ physical_cpu, k80 }: Authors["prices_per_hour"]["aws"]) {
  const gpu: Record<Hardware, number> = { cpu: 0, k80 };
  return HARDWARE.map((hardware) => ({
    name: hardware,
    hardware,
    workers: WORKERS[hardware],
    pricePerHour: Number((physical_cpu + gpu[hardware]).toFixed(6)),
  }));
}

function variant(model: string, measured: Record<Hardware, Variants>) {
  const on = HARDWARE.filter((hardware) => measured[hardware][model] !== undefined);
  return { name: model, profile: on.map((hardware) => `${hardware}.json#${model}`) };
}
