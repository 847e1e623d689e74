// The pipelines of InferLine's authors as application specs: `node bench/inferline-pipelines.js --pipeline image --slo 350 --loads 50,100 --out DIR`, further
// `--cv2 4` for gamma arrivals and `--policy '{"margin":"auto"}'`. The measurements are where STRATAGEM_REFERENCE says.
//
// What is pinned here, because the measurements leave it open:
//  - a worker of a pool has one CPU; what was measured with two (res152 at batch 10, lang-detect on a GPU) is left out;
//  - a batch is the rounded mean of the batches that ran, its latency mean batch over throughput: a mean, not a percentile; of two that round to the same
//    size, the nearer counts;
//  - the PyTorch runs do not say which GPU they had: they count as K80;
//  - log-reg ran on a GPU instance but on its CPU, and the authors' plans pay for a CPU only: it is on the cpu pool;
//  - of V100 there are three points, from the throughput in the authors' plans, which is at three quarters of the raw one;
//  - accuracy plays no part: it is 1. No measurement exists of the cascade's preprocess stage: it is left out. Shares of edges are not published: they are
//    parameters.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const REFERENCE = process.env.STRATAGEM_REFERENCE ?? "../shared/reference";
const HARDWARE = ["cpu", "k80", "v100"];
/** The paper's cluster had 128 GPUs. */
const WORKERS = { cpu: 1000, k80: 128, v100: 128 };
const UTILISATION_OF_PLANS = 0.75;
/** Models whose GPU instance was not what they ran on. */
const RUNS_ON_CPU = new Set(["tf-log-reg"]);

/** Names of tasks and the models that they run; edges as in the authors' profiler. */
export const PIPELINES = {
  image: {
    sloMs: 350,
    tasks: () => [
      { name: "source", passThrough: true, to: [{ task: "resnet" }, { task: "inception" }] },
      { name: "resnet", model: "tf-resnet-feats", to: [{ task: "ksvm" }] },
      { name: "inception", model: "tf-inception", to: [{ task: "logreg" }] },
      { name: "ksvm", model: "tf-kernel-svm" },
      { name: "logreg", model: "tf-log-reg" },
    ],
  },
  cascade: {
    sloMs: 250,
    tasks: ({ share = 0.5 }) => [
      { name: "alexnet", model: "pytorch-alexnet", to: [{ task: "res152", share }] },
      { name: "res152", model: "pytorch-res152" },
    ],
  },
  text: {
    sloMs: 1500,
    // A request in the language of the last stage goes there at once, another is translated first.
    tasks: ({ share = 0.7 }) => [
      {
        name: "lang-detect",
        model: "tf-lang-detect",
        branch: "exclusive",
        to: [
          { task: "lstm", share },
          { task: "nmt", share: Number((1 - share).toFixed(6)) },
        ],
      },
      { name: "nmt", model: "tf-nmt", to: [{ task: "lstm" }] },
      { name: "lstm", model: "tf-lstm" },
    ],
  },
};

/**
 * Writes app.yaml and a profile for each kind of hardware. @param options `loads` and, each with a default, `sloMs`, `arrivals` as in a spec, `policy`
 * beside its method, `workers` by hardware, of which what has none is left out, `share`. @returns the path of app.yaml.
 */
export function writeReference(pipeline, options, dir) {
  const { loads, arrivals = { process: "poisson" }, policy = {}, workers = WORKERS } = options;
  const reference = PIPELINES[pipeline];
  if (reference === undefined) throw new Error(`no pipeline "${pipeline}"`);
  const authors = read("inferline/inferline_authors_profiles.json");
  const tasks = reference.tasks(options);
  const models = tasks.flatMap(({ model }) => model ?? []);
  const measured = measurements(authors, models);
  for (const hardware of HARDWARE) if (workers[hardware] === 0) measured[hardware] = {};
  mkdirSync(dir, { recursive: true });
  for (const hardware of HARDWARE) {
    const variants = measured[hardware];
    if (Object.keys(variants).length === 0) continue;
    const profile = { format: "latency-profile/1", hardware, source: authors._source, variants };
    writeFileSync(join(dir, `${hardware}.json`), JSON.stringify(profile, null, 2));
  }
  const app = {
    version: 1,
    application: `inferline-${pipeline}`,
    slo: { latency: `${options.sloMs ?? reference.sloMs} ms` },
    workload: { arrivals, loads },
    cluster: { pools: pools(authors.prices_per_hour.aws, measured, workers) },
    tasks: tasks.map(({ model, ...task }) =>
      model === undefined ? task : { ...task, variants: [variant(model, measured)] },
    ),
    policy: { method: "inferline", ...policy },
  };
  const path = join(dir, "app.yaml");
  // JSON is YAML.
  writeFileSync(path, JSON.stringify(app, null, 2));
  return path;
}

/** Latency by batch, of each model on each kind of hardware that it was measured on. */
function measurements({ profiles, v100_points_derived }, models) {
  const byHardware = Object.fromEntries(HARDWARE.map((hardware) => [hardware, {}]));
  for (const model of models) {
    const { rows } = profiles.find((profile) => profile.model === model);
    const oneCpu = rows.filter(({ cpus }) => cpus === 1);
    const isCpu = ({ gpus }) => gpus === 0 || RUNS_ON_CPU.has(model);
    addVariant(byHardware.cpu, model, oneCpu.filter(isCpu));
    addVariant(
      byHardware.k80,
      model,
      oneCpu.filter((row) => !isCpu(row)),
    );
    const points = v100_points_derived.per_replica_qps_at_util_075;
    const key = `${model.replaceAll("-", "_")}_v100`;
    const v100 = Object.entries(points[key] ?? points[key.replace("tf_", "")] ?? {});
    const ofPlans = v100.map(([size, qps]) => {
      const batch = Number(size.slice(1));
      return { mean_batch: batch, batch_service_ms: (1000 * batch * UTILISATION_OF_PLANS) / qps };
    });
    addVariant(byHardware.v100, model, ofPlans);
  }
  return byHardware;
}

function addVariant(variants, model, rows) {
  if (rows.length === 0) return;
  const nearest = new Map();
  for (const row of rows) {
    const batch = Math.round(row.mean_batch);
    const other = nearest.get(batch);
    if (other && Math.abs(other.mean_batch - batch) <= Math.abs(row.mean_batch - batch)) continue;
    nearest.set(batch, row);
  }
  const latencyMs = [...nearest].map(([batch, row]) => [batch, row.batch_service_ms]);
  variants[model] = { accuracy: 1, latencyMs: Object.fromEntries(latencyMs) };
}

function pools(prices, measured, workers) {
  const gpu = { cpu: 0, k80: prices.k80, v100: prices.v100 };
  return HARDWARE.filter((hardware) => Object.keys(measured[hardware]).length > 0).map(
    (hardware) => ({
      name: hardware,
      hardware,
      workers: workers[hardware],
      pricePerHour: Number((prices.physical_cpu + gpu[hardware]).toFixed(6)),
    }),
  );
}

function variant(model, measured) {
  const on = HARDWARE.filter((hardware) => measured[hardware][model] !== undefined);
  return { name: model, profile: on.map((hardware) => `${hardware}.json#${model}`) };
}

function read(path) {
  return JSON.parse(readFileSync(join(REFERENCE, path), "utf8"));
}

function main() {
  const option = {};
  const rest = process.argv.slice(2);
  for (let i = 0; i < rest.length; i += 2) option[rest[i].replace(/^--/, "")] = rest[i + 1];
  if (!option.pipeline || !option.loads || !option.out) {
    console.error(
      `usage: inferline-pipelines.js --pipeline ${Object.keys(PIPELINES).join("|")} --loads A,B --out DIR [--slo MS] [--cv2 C] [--share S] [--policy JSON]`,
    );
    process.exit(64);
  }
  const path = writeReference(
    option.pipeline,
    {
      loads: option.loads.split(",").map(Number),
      ...(option.slo ? { sloMs: Number(option.slo) } : {}),
      ...(option.cv2 ? { arrivals: { process: "gamma", cv2: Number(option.cv2) } } : {}),
      ...(option.share ? { share: Number(option.share) } : {}),
      policy: JSON.parse(option.policy ?? "{}"),
    },
    option.out,
  );
  console.log(path);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) main();
