/**
 * `npm run check:promises -- [BUNDLE]...`: whether fresh traffic gives what bundles promise, all
 * committed ones if none is named. Each level is simulated as `stratagem simulate` does it, with
 * eight seeds, and on slower machines as promises are made. A figure holds where it lies within
 * three standard errors of their mean, its own error included, or is a time or a cost that is less
 * than 1 % off. Ends with 3 where one does not.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { simulateCommand } from "stratagem/internal/commands/simulate/simulate";
import type { CompilerMethod } from "stratagem/internal/methods/method";
import { methodOf } from "stratagem/internal/methods/registry";
import type { Bundle, Level } from "stratagem-runtime/internal/bundle/schema";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { pacePromisesOf } from "stratagem-runtime/internal/describe/pace-promises";
import { alignColumns } from "stratagem-runtime/internal/describe/text";

const SEEDS = [101, 102, 103, 104, 105, 106, 107, 108];
/** Queries of a level whose promise does not say with how many it was made. */
const QUERIES = 100_000;
/** ... and of one on a slower machine. */
const PACED_QUERIES = 10_000;
/** What 99.73 % of the means are within: three standard errors, as eight seeds tell these. */
const MOST_ERRORS = 4.53;
/** Of figures that are the same for all traffic. */
const ROUNDING = 1e-6;
/** A time or a cost that is less off is as promised, however well it is known. */
const LEAST_PART = 0.01;
const EXIT_BROKEN = 3;

type Figures = Readonly<Record<string, number>>;

interface Checked {
  readonly at: string;
  readonly figure: string;
  readonly stated: number;
  readonly mean: number;
  /** Standard errors between them. */
  readonly errors: number;
  readonly isNear: boolean;
}

const [first, ...others] = process.argv.slice(2);
if (first !== undefined && others.length === 0) await checkOne(first);
else await checkAll(first === undefined ? committed() : [first, ...others]);

function committed(): string[] {
  const paths = readdirSync("policies").map((name) => `policies/${name}/bundle.msgpack`);
  return paths.filter((path) => existsSync(path));
}

/** Each in a process of its own, as many at a time as there are processors. */
async function checkAll(paths: readonly string[]): Promise<void> {
  const waiting = [...paths];
  const work = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const { code, text } = await inProcess(path);
      process.stdout.write(text);
      if (code !== 0) process.exitCode = code;
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}

function inProcess(path: string): Promise<{ readonly code: number; readonly text: string }> {
  return new Promise((resolve) => {
    const file = fileURLToPath(import.meta.url);
    const child = execFile(process.execPath, [file, path], (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : (child.exitCode ?? 1), text: stdout + stderr });
    });
  });
}

async function checkOne(path: string): Promise<void> {
  const { bundle } = await loadBundle(path);
  const method = await methodOf(bundle);
  const levels: readonly Level[] = bundle.levels;
  const checked: Checked[] = [];
  for (const [index, level] of levels.entries()) {
    const at = String(level.loadQps);
    const queries = queriesOf(level);
    const stated = statedBy(method, bundle, level);
    const seen = await Promise.all(SEEDS.map((seed) => simulated(path, bundle, level, seed)));
    checked.push(...compared(at, stated, seen, queries));
    for (const promised of pacePromisesOf(level).byPace ?? []) {
      const { pace, queueMs: _, ...own } = promised;
      const found = SEEDS.map((seed) => method.paces?.promised(bundle, index, pace, seed));
      const figures = found.map(({ queueMs: _, ...one } = promised): Figures => one);
      checked.push(...compared(`${at}, pace ${pace}`, own, figures, PACED_QUERIES));
    }
  }
  const broken = checked.filter(({ errors, isNear }) => errors > MOST_ERRORS && !isNear);
  const near = checked.filter(({ errors }) => errors <= 3).length;
  if (broken.length > 0) process.exitCode = EXIT_BROKEN;
  const most = Math.max(...checked.map(({ errors }) => errors));
  console.log(
    `${path}: ${checked.length - broken.length} of ${checked.length} figures hold; ` +
      `${near} within 3 sample errors of ${SEEDS.length} seeds, the worst ${most.toFixed(2)}`,
  );
  if (broken.length === 0) return;
  const rows = broken.map(({ at, figure, stated, mean, errors }) => {
    return [at, figure, stated.toPrecision(6), mean.toPrecision(6), errors.toFixed(1)];
  });
  console.log(alignColumns([["load qps", "figure", "promised", "mean", "errors"], ...rows]));
}

/** What a level promises of what a simulation tells. */
function statedBy(method: CompilerMethod, bundle: Bundle, level: Level): Figures {
  const { workers: _, cost, ...rest } = method.promises(bundle, level).figures;
  // Only replicas that come and go have a cost over time.
  return { ...rest, ...(method.scales && cost !== undefined && { cost }) };
}

/** Queries that a promise was made with. */
function queriesOf(level: Level): number {
  const expected: object = "steady" in level ? level.steady.expected : level.expected;
  if ("durationMs" in expected) return (Number(expected.durationMs) * level.loadQps) / 1000;
  return "requests" in expected ? Number(expected.requests) : QUERIES;
}

async function simulated(
  bundle: string,
  { method, arrivals }: Bundle,
  level: Level,
  seed: number,
): Promise<Figures> {
  // Plans of replicas promise what they carry.
  const isPlanned = method === "inferline" || method === "themis";
  const qps = isPlanned ? Math.min(level.loadQps, level.capacityQps) : level.loadQps;
  const { json } = await simulateCommand(
    {
      bundle,
      seed: String(seed),
      arrivals: arrivals.process === "gamma" ? `gamma:${qps},${arrivals.cv2}` : `poisson:${qps}`,
      duration: `${(1000 * queriesOf(level)) / qps} ms`,
    },
    { jobs: 1, onProgress() {}, signal: new AbortController().signal, nowMs: () => 0 },
  );
  return figuresIn(json);
}

/** By the names of promises. */
function figuresIn(json: object): Figures {
  const result: Partial<Record<string, unknown>> = { ...json };
  const { p50, p95, p99 } = { ...(result["latencyMs"] as Partial<Figures> | null) };
  const { mean: cores } = { ...(result["cores"] as Partial<Figures> | undefined) };
  const told = {
    violations: result["violationRate"],
    accuracy: result["accuracyPerSatisfied"],
    accuracyPerQuery: result["accuracyPerQuery"],
    cost: result["costPerHour"],
    ...{ p50, p95, p99, cores },
  };
  const known = Object.entries(told).filter(([, value]) => typeof value === "number");
  return Object.fromEntries(known.map(([name, value]) => [name, Number(value)]));
}

/** A share of which nothing was seen may still be one of all queries. */
function compared(
  at: string,
  stated: Figures,
  seen: readonly Figures[],
  queries: number,
): Checked[] {
  return Object.entries(stated).flatMap(([figure, value]) => {
    const values = seen.map((one) => one[figure] ?? Number.NaN);
    if (values.some(Number.isNaN)) return [];
    const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
    const squares = values.reduce((sum, one) => sum + (one - mean) * (one - mean), 0);
    const isShare = figure.startsWith("violation") || figure.startsWith("accuracy");
    const least = isShare ? 1 / queries : ROUNDING * Math.abs(mean);
    const deviation = Math.max(Math.sqrt(squares / (values.length - 1)), least);
    const error = deviation * Math.sqrt(1 + 1 / values.length);
    const off = Math.abs(value - mean);
    const isNear = !isShare && off <= LEAST_PART * mean;
    return [{ at, figure, stated: value, mean, errors: off / error, isNear }];
  });
}
