/**
 * Runs the main job end to end: profiles the example models on this machine with the serving path,
 * compares predictions with measurements at three loads (`stratagem truth`), then sends the same
 * loads to single models.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type LoadResult, runLoad } from "stratagem/internal/load/run-load";
import type { TruthDocument } from "stratagem/internal/truth/truth-document";
import { CLI } from "../experiments/harness/cli.ts";
import { startServe, withServer } from "../experiments/harness/live.ts";
import { drawImages, HELD_OUT_SEED, IMAGE_BYTES } from "../models/image-classification/dataset.ts";
import { demoText, type Single, singleOf } from "./demo-table.ts";

interface Variant {
  readonly name: string;
  readonly file: string;
  readonly accuracy: number;
}

/** Latencies of a profile. */
type Profiled = Readonly<Record<string, { latencyMs: Record<string, { p50: number }> }>>;

/** Keeps the profile of this machine between runs. */
const FOLDER = ".stratagem";
const SLO_MS = 100;
/** Levels, as multiples of what one worker carries with the slowest model and no batching. */
const LEVELS = [0.6, 1.8];
const POLICY_SECONDS = 5;
const SINGLE_SECONDS = 2;
const WARM_UP_QUERIES = 200;
const IMAGE_COUNT = 1000;
const EXIT_NOT_VERIFIED = 3;

const MODELS = "models/image-classification";

const variants = readVariants<Variant[]>(`${MODELS}/models.json`);
const images = drawImages(HELD_OUT_SEED, IMAGE_COUNT);
mkdirSync(FOLDER, { recursive: true });

title("1. Profile the models on this machine");
const profilePath = `${FOLDER}/profile.json`;
writeSpec("app", variants, [1]);
if (existsSync(profilePath))
  console.log(`${profilePath} is there from an earlier run; remove it to measure again`);
else await profile();

title("2. Promised and measured: compile, serve, load and simulate the same arrivals");
const profiled = Object.values(readVariants<Profiled>(profilePath));
const slowestMs = Math.max(...profiled.map(({ latencyMs }) => latencyMs["1"]?.p50 ?? 0));
const loads = LEVELS.map((level) => Number(((1000 * level) / slowestMs).toPrecision(2)));
await tellTruth();
const document: TruthDocument = JSON.parse(readFileSync(`${FOLDER}/demo/truth.json`, "utf8"));

title("3. The same loads on single models, the most accurate first");
const singles: Single[][] = document.points.map(() => []);
for (const variant of variants.toSorted((one, other) => other.accuracy - one.accuracy)) {
  const open = singles.flatMap((measured, index) => (measured.some(keepsUp) ? [] : [index]));
  if (open.length > 0) await measureSingle(variant, open);
}
console.log(demoText(document, singles));
console.log(
  `\nTry next: npx stratagem inspect ${FOLDER}/demo/bundle.msgpack --level ${loads.at(-1)}`,
);

function readVariants<T>(path: string): T {
  return JSON.parse(readFileSync(path, "utf8")).variants;
}

function title(text: string): void {
  console.log(`\n== ${text}`);
}

function writeSpec(name: string, chosen: readonly Variant[], loadsQps: readonly number[]): void {
  const spec = {
    version: 1,
    application: "glyphs",
    slo: { latency: `${SLO_MS} ms` },
    workload: { arrivals: { process: "poisson" }, loads: loadsQps },
    cluster: { workers: 1 },
    tasks: [
      {
        name: "classify",
        variants: chosen.map(({ name: variant, file, accuracy }) => ({
          name: variant,
          accuracy,
          model: `../${MODELS}/${file}`,
          profile: `profile.json#${variant}`,
        })),
      },
    ],
    policy: { method: "ramsis", maxQueue: 16 },
  };
  writeFileSync(`${FOLDER}/${name}.json`, JSON.stringify(spec, null, 2));
}

/** Takes the times of a noisy machine as they are: the demo shows what this machine does today. */
async function profile(): Promise<void> {
  const batches = ["--batches", "1,2,4,8", "--serving"];
  const args = ["profile", `${FOLDER}/app.json`, "-o", profilePath, ...batches];
  console.log(`$ stratagem ${args.join(" ")}`);
  const code = await exitCodeOf(args, "ignore");
  if (code === 0) return;
  const isPathLeft = existsSync(profilePath);
  if (!isPathLeft && !existsSync(`${profilePath}.partial`)) process.exit(code);
  console.log("the machine is noisy: its times are taken as they are, and promises may not hold");
  const path = ["profile", `${FOLDER}/app.json`, "--serving", profilePath];
  await stratagem(...(isPathLeft ? path : args), "--force");
}

/** Goes on after a broken promise: the demo shows what this machine does today. */
async function tellTruth(): Promise<void> {
  writeSpec("app", variants, loads);
  writeFileSync(`${FOLDER}/images.bin`, images.pixels);
  writeFileSync(`${FOLDER}/labels.txt`, `${images.labels.join("\n")}\n`);
  const sent = ["--inputs", `${FOLDER}/images.bin`, "--labels", `${FOLDER}/labels.txt`];
  const extent = ["--loads", String(LEVELS.length), "--duration", `${POLICY_SECONDS}s`];
  const files = ["--profile", profilePath, ...sent, "-o", `${FOLDER}/demo`];
  const args = ["truth", `${FOLDER}/app.json`, ...files, ...extent];
  console.log(`$ stratagem ${args.join(" ")}`);
  const code = await exitCodeOf(args, "ignore");
  if (code !== 0 && code !== EXIT_NOT_VERIFIED) process.exit(code);
  console.log(`${FOLDER}/demo/truth.html has figures of each run`);
}

async function compileOne(variant: Variant): Promise<void> {
  writeSpec(variant.name, [variant], loads);
  const bundle = `${FOLDER}/${variant.name}.msgpack`;
  await run(["compile", `${FOLDER}/${variant.name}.json`, "-o", bundle], "ignore");
}

async function stratagem(...args: string[]): Promise<void> {
  console.log(`$ stratagem ${args.join(" ")}`);
  await run(args, "inherit");
}

async function run(args: readonly string[], stdout: "inherit" | "ignore"): Promise<void> {
  const code = await exitCodeOf(args, stdout);
  if (code !== 0) process.exit(code);
}

async function exitCodeOf(args: readonly string[], stdout: "inherit" | "ignore"): Promise<number> {
  const child = spawn(process.execPath, [CLI, ...args], {
    stdio: ["ignore", stdout, "inherit"],
  });
  const [code] = await once(child, "exit");
  return code ?? 1;
}

function keepsUp({ violationRate }: Single): boolean {
  return violationRate <= document.slo.ceiling;
}

/** Serves one model under the loads that no more accurate model carried. */
async function measureSingle(variant: Variant, points: readonly number[]): Promise<void> {
  await compileOne(variant);
  const bundle = `${FOLDER}/${variant.name}.msgpack`;
  const starting = startServe(bundle, ["--models", MODELS], { isQuiet: true });
  await withServer(starting, async ({ url }) => {
    for (const [order, index] of points.entries()) {
      const qps = document.points[index]?.loadQps ?? 0;
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${variant.name}: ${qps} requests/s`);
      const result = await loadAt(url, qps, index, order === 0 ? WARM_UP_QUERIES : 0);
      singles[index]?.push(singleOf(variant.name, result));
    }
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  });
}

function loadAt(
  url: string,
  qps: number,
  seed: number,
  warmUpQueries: number,
): Promise<LoadResult> {
  return runLoad({
    url,
    model: null,
    arrivals: { kind: "poisson", qps },
    durationMs: SINGLE_SECONDS * 1000,
    seed,
    sloMs: SLO_MS,
    inputs: (index) => {
      const image = index % IMAGE_COUNT;
      const bytes = images.pixels.subarray(image * IMAGE_BYTES, (image + 1) * IMAGE_BYTES);
      return { bytes, label: images.labels[image] ?? null };
    },
    maxOutstanding: 4096,
    warmUpQueries,
    timeoutMs: 10_000,
    nowMs: () => performance.now(),
    onProgress: () => {},
    signal: new AbortController().signal,
  });
}
