/** What a bundle promises beside what a server keeps, load by load: compiled, served, measured. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import type { LoadResult } from "stratagem/internal/load/run-load";
import { drawQueries } from "stratagem/internal/methods/accordion/simulate/queries";
import { loadBundle } from "stratagem-runtime/internal/bundles/load-bundle";
import { Rng } from "stratagem-runtime/internal/core/rng";
import { PlaceClient } from "../../experiments/accordion/place-client.ts";
import { openBundle, stratagemJson } from "../../experiments/harness/cli.ts";
import { withServer } from "../../experiments/harness/live.ts";
import { ascending, percent, present, quantile } from "../../experiments/harness/numbers.ts";
import { drawImages, HELD_OUT_SEED } from "../../models/image-classification/dataset.ts";
import { drawScenes, HELD_OUT_SEED as SCENES_SEED } from "../../models/scenes/dataset.ts";
import type { ApplicationName } from "../applications.ts";
import type { Section, Teller } from "../section.ts";
import { compiled, serveOn } from "../served.ts";
import { SEED, type Settings } from "../settings.ts";

const LIMIT_SECONDS: Readonly<Record<ApplicationName, number>> = {
  letters: 90,
  scenes: 110,
  malleable: 110,
};
/** How long each load is held. */
const SECONDS = 7;
const QUICK_SECONDS = 4;
const IMAGE_COUNT = 500;
const SCENE_COUNT = 100;
const WARM_UP = ["--concurrency", "8", "--duration", "2s"];

/** A promise counts as kept this far off: a few seconds hold a few stalls of a machine. */
const LATE_SLACK = 0.01;
const ACCURACY_SLACK = 0.005;

/** What became of the queries of a load, by a client or a simulation. */
interface Fate {
  readonly violationRate: number;
  readonly accuracyPerSatisfied: number | null;
  readonly latencyMs: { readonly p50: number; readonly p95: number; readonly p99: number } | null;
}

export function promisesOf(name: ApplicationName): Section {
  return {
    name,
    title: `${name}: predicted (promise, simulation) / measured on the device`,
    limitSeconds: LIMIT_SECONDS[name],
    isOfValues: false,
    run: (settings, tell) => measureAll(name, settings, tell),
  };
}

async function measureAll(name: ApplicationName, settings: Settings, tell: Teller): Promise<void> {
  const { bundle: file, asked } = await compiled(name, settings);
  const { bundle } = await loadBundle(file);
  const { maxViolationRate: ceiling = 0 } = bundle.slo as { maxViolationRate?: number };
  const seconds = settings.isQuick ? QUICK_SECONDS : SECONDS;
  tell.note(`deadline ${asked.sloMs} ms; each load for ${seconds} s, Poisson, open loop`);
  tell.columns(
    "queries/s",
    "late",
    "measured",
    "p50",
    "ms",
    "p95",
    "ms",
    "p99",
    "ms",
    "accuracy",
    "",
  );
  await withServer(serveOn(name, file, settings), async ({ url }) => {
    for (const level of bundle.levels) {
      if (!("expected" in level)) continue;
      const { loadQps, expected, feasible } = level;
      const load: Load = { url, bundle: file, qps: loadQps, seconds, sloMs: asked.sloMs };
      const predicted = await simulated(name, load);
      const measured = await (name === "malleable"
        ? ofPlaces(load)
        : ofBench(name, load, settings));
      const promised = Math.max(expected.violationRate, ceiling);
      tell.row(
        [
          feasible ? loadQps : `${loadQps}*`,
          percent(expected.violationRate, 3),
          percent(measured.violationRate, 3),
          ...(["p50", "p95", "p99"] as const).flatMap((key) => [
            predicted.latencyMs?.[key].toFixed(1) ?? "-",
            measured.latencyMs?.[key].toFixed(1) ?? "-",
          ]),
          percent(predicted.accuracyPerSatisfied),
          percent(measured.accuracyPerSatisfied),
        ],
        feasible ? isKept(promised, predicted, measured) : undefined,
      );
      const { byVariant } = measured as Partial<LoadResult>;
      if (byVariant !== undefined) tell.note(`${loadQps}: ${sharesText(byVariant)}`);
    }
  });
  if (bundle.levels.some(({ feasible }) => !feasible)) {
    tell.note("* the compiler promises nothing at this load");
  }
}

function isKept(promised: number, predicted: Fate, measured: Fate): boolean {
  const wanted = (predicted.accuracyPerSatisfied ?? 0) - ACCURACY_SLACK;
  return (
    measured.violationRate <= promised + LATE_SLACK &&
    (measured.accuracyPerSatisfied ?? 1) >= wanted
  );
}

function sharesText(byVariant: LoadResult["byVariant"]): string {
  const counts = Object.entries(byVariant).filter(([, { queries }]) => queries > 0);
  const all = counts.reduce((sum, [, { queries }]) => sum + queries, 0);
  const shares = counts.map(([name, { queries }]) => `${name} ${percent(queries / all, 0)}`);
  return `${all} answers, ${shares.join(", ")}`;
}

interface Load {
  readonly url: string;
  readonly bundle: string;
  readonly qps: number;
  readonly seconds: number;
  readonly sloMs: number;
}

/** With times drawn from the profile's quantiles where the bundle has them. */
function simulated(name: ApplicationName, { bundle, qps, seconds }: Load): Promise<Fate> {
  const load = ["--arrivals", `poisson:${qps}`, "--duration", `${seconds}s`];
  const times = name === "malleable" ? [] : ["--service-times", "sampled"];
  return stratagemJson<Fate>("simulate", bundle, ...load, ...times);
}

/** `stratagem bench`, with the images or scenes that no model has seen. */
async function ofBench(
  name: ApplicationName,
  { url, qps, seconds, sloMs }: Load,
  settings: Settings,
): Promise<LoadResult> {
  const load = ["--arrivals", `poisson:${qps}`, "--duration", `${seconds}s`];
  const inputs = inputFiles(name, settings);
  await stratagemJson<LoadResult>("bench", url, ...WARM_UP, ...inputs);
  return stratagemJson<LoadResult>("bench", url, ...load, "--slo", `${sloMs}ms`, ...inputs);
}

/** Writes rows and their classes. @returns the options that name them. */
function inputFiles(name: ApplicationName, { work }: Settings): string[] {
  const inputs = path.join(work, `${name}.rows`);
  if (name === "scenes") {
    writeFileSync(inputs, drawScenes(SCENES_SEED, SCENE_COUNT).pixels);
    return ["--inputs", inputs];
  }
  const labels = path.join(work, `${name}.labels`);
  const images = drawImages(HELD_OUT_SEED, IMAGE_COUNT);
  writeFileSync(inputs, images.pixels);
  writeFileSync(labels, images.labels.join("\n"));
  return ["--inputs", inputs, "--labels", labels];
}

/** Queries of several instances to malleable pipelines, as the simulation has them. */
async function ofPlaces({ url, bundle: file, qps, seconds, sloMs }: Load): Promise<Fate> {
  const bundle = await openBundle("accordion", file);
  const queries = drawQueries(bundle, { kind: "poisson", qps }, 1000 * seconds, SEED);
  const client = new PlaceClient(url, bundle, new Rng(SEED, 99));
  await client.warmUp();
  const answers = await client.sendAll(queries, performance.now());
  const served = [...answers.entries()].filter(([, { status }]) => status === 200);
  const timesMs = ascending(served.map(([, answer]) => answer.latencyMs + answer.lagMs));
  const inTime = served.filter(([, answer]) => answer.latencyMs + answer.lagMs <= sloMs);
  const { variants } = present(bundle.tasks[0]);
  const accuracies = inTime.map(([query]) => variants[queries.model[query] ?? 0]?.accuracy ?? 0);
  return {
    violationRate: answers.length === 0 ? 0 : 1 - inTime.length / answers.length,
    accuracyPerSatisfied:
      accuracies.reduce((sum, accuracy) => sum + accuracy, 0) / accuracies.length,
    latencyMs: {
      p50: quantile(timesMs, 0.5),
      p95: quantile(timesMs, 0.95),
      p99: quantile(timesMs, 0.99),
    },
  };
}
