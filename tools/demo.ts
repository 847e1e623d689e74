/**
 * The main job end to end: profile the example models on this machine, compile a bundle for four
 * load levels, serve it, send a Poisson load that climbs and falls across the levels, and set what
 * the bundle predicts beside what was measured; then the same on each single model.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type LoadResult, runLoad } from "stratagem/internal/load/run-load";
import type { RamsisBundle } from "stratagem-runtime/internal/bundle/schema";
import { alignColumns, percent } from "stratagem-runtime/internal/tell/text";
import { CLI, openBundle } from "../experiments/harness/cli.ts";
import { startServe, withServer } from "../experiments/harness/live.ts";
import { present } from "../experiments/harness/numbers.ts";
import { drawImages, HELD_OUT_SEED, IMAGE_BYTES } from "./image-classification/dataset.ts";

interface Variant {
  readonly name: string;
  readonly file: string;
  readonly accuracy: number;
}

/** Latencies of a profile. */
type Profiled = Readonly<Record<string, { latencyMs: Record<string, { p50: number }> }>>;

/** What the phases of one level came to. */
type Outcome = ReturnType<typeof together>;

/** Kept between runs: the profile of this machine. */
const FOLDER = ".stratagem";
const SLO_MS = 100;
/** Levels, as multiples of what one worker carries with the slowest model and no batching. */
const LEVELS = [0.3, 0.6, 1.2, 1.8];
const CLIMB_AND_FALL = [0, 1, 2, 3, 2, 1, 0];
const POLICY_SECONDS = 4;
const SINGLE_SECONDS = 1.5;
const IMAGE_COUNT = 1000;

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

title("2. Compile a policy for four load levels");
const profiled = Object.values(readVariants<Profiled>(profilePath));
const slowestMs = Math.max(...profiled.map(({ latencyMs }) => latencyMs["1"]?.p50 ?? 0));
const loads = LEVELS.map((level) => Number(((1000 * level) / slowestMs).toPrecision(2)));
const policy = await compile("app", variants);

title(`3. Serve it under ${CLIMB_AND_FALL.map((level) => loads[level]).join(", ")} queries/s`);
const outcomes = await measure("app", POLICY_SECONDS);
console.log(
  alignColumns([
    [
      "qps",
      "accuracy",
      "measured",
      "labels",
      "late",
      "measured",
      "p50 ms",
      "p99 ms",
      "share of each variant, %",
    ],
    ...policy.levels.map(({ loadQps, expected }, level) => {
      const outcome = present(outcomes[level]);
      return [
        String(loadQps),
        percent(expected.accuracyPerSatisfied),
        ...columns(outcome, percent(expected.violationRate)),
        shares(outcome),
      ];
    }),
  ]),
);

title("4. The same load on each single model");
const rows: string[][] = [];
for (const variant of variants) {
  await compile(variant.name, [variant], "ignore");
  const single = await measure(variant.name, SINGLE_SECONDS);
  for (const [level, qps] of loads.entries()) {
    rows.push([variant.name, String(qps), ...columns(present(single[level]), "")]);
  }
}
console.log(
  alignColumns([
    ["model", "load qps", "accuracy", "by labels", "", "late or lost", "p50 ms", "p99 ms"],
    ...rows,
  ]),
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

/** What a noisy machine refuses is taken as it is: a demo shows what this machine does today. */
async function profile(): Promise<void> {
  const args = ["profile", `${FOLDER}/app.json`, "-o", profilePath, "--batches", "1,2,4,8"];
  console.log(`$ stratagem ${args.join(" ")}`);
  const code = await exitCodeOf(args, "inherit");
  if (code === 0) return;
  if (!existsSync(`${profilePath}.partial`)) process.exit(code);
  console.log("the machine is noisy: its times are taken as they are, and promises may not hold");
  await stratagem(...args, "--force");
}

async function compile(
  name: string,
  chosen: readonly Variant[],
  stdout: "inherit" | "ignore" = "inherit",
): Promise<RamsisBundle> {
  writeSpec(name, chosen, loads);
  await run(["compile", `${FOLDER}/${name}.json`, "-o", `${FOLDER}/${name}.msgpack`], stdout);
  return openBundle("ramsis", `${FOLDER}/${name}.msgpack`);
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

/** Serves a bundle while the load climbs and falls. @returns by level what its phases came to. */
function measure(name: string, seconds: number): Promise<Outcome[]> {
  const starting = startServe(`${FOLDER}/${name}.msgpack`, ["--models", MODELS], { isQuiet: true });
  return withServer(starting, async ({ url }) => {
    const byLevel: LoadResult[][] = loads.map(() => []);
    for (const [phase, level] of CLIMB_AND_FALL.entries()) {
      const qps = present(loads[level]);
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${name}: ${qps} queries/s`);
      byLevel[level]?.push(await phaseAt(url, qps, seconds, phase));
    }
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
    return byLevel.map(together);
  });
}

function phaseAt(url: string, qps: number, seconds: number, seed: number): Promise<LoadResult> {
  return runLoad({
    url,
    model: null,
    arrivals: { kind: "poisson", qps },
    durationMs: seconds * 1000,
    seed,
    sloMs: SLO_MS,
    inputs: (index) => {
      const image = index % IMAGE_COUNT;
      const bytes = images.pixels.subarray(image * IMAGE_BYTES, (image + 1) * IMAGE_BYTES);
      return { bytes, label: images.labels[image] ?? null };
    },
    maxOutstanding: 4096,
    warmUpQueries: seed === 0 ? 200 : 0,
    timeoutMs: 10_000,
    nowMs: () => performance.now(),
    onProgress: () => {},
    signal: new AbortController().signal,
  });
}

/** Phases of one level as one outcome; of the latency quantiles the worse phase counts. */
function together(phases: readonly LoadResult[]) {
  const sum = (of: (phase: LoadResult) => number) =>
    phases.reduce((total, phase) => total + of(phase), 0);
  const mean = (of: (phase: LoadResult) => number | null) =>
    sum((each) => (of(each) ?? 0) * each.satisfied) / sum((each) => each.satisfied);
  const byVariant = new Map<string, number>();
  for (const phase of phases) {
    for (const [name, { queries }] of Object.entries(phase.byVariant)) {
      byVariant.set(name, (byVariant.get(name) ?? 0) + queries);
    }
  }
  return {
    queries: sum((each) => each.queries),
    violationRate: sum((each) => each.late + each.dropped) / sum((each) => each.queries),
    accuracy: mean((each) => each.accuracyPerSatisfied),
    byLabels: mean((each) => each.measuredAccuracy),
    p50: Math.max(...phases.map((each) => each.latencyMs?.p50 ?? Number.NaN)),
    p99: Math.max(...phases.map((each) => each.latencyMs?.p99 ?? Number.NaN)),
    byVariant,
  };
}

function columns(
  { accuracy, byLabels, violationRate, p50, p99 }: Outcome,
  latePredicted: string,
): string[] {
  return [
    percent(accuracy),
    percent(byLabels),
    latePredicted,
    percent(violationRate),
    p50.toFixed(1),
    p99.toFixed(1),
  ];
}

function shares({ byVariant, queries }: Outcome): string {
  return [...byVariant]
    .map(([name, count]) => [name, Math.round((100 * count) / queries)] as const)
    .filter(([, percent]) => percent > 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, percent]) => `${name} ${percent}`)
    .join(", ");
}
