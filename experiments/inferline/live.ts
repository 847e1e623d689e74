/**
 * A live cascade: load of a level, a burst above it, and back, beside what a simulation of the same
 * phases says; replicas as they come and go; and of the held-out images, how many were rightly
 * named. Server, workers and load generator share the machine. Ends with 1 if a request was lost.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LoadResult } from "../../compiler/load/run-load.ts";
import type { InferlineBundle } from "../../runtime/bundle/schema.ts";
import {
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
} from "../../tools/image-classification/dataset.ts";
import { openBundle, stratagemJson } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines, startRecorded, withServer } from "../harness/live.ts";
import { type Metrics, metricOf, watchMetrics } from "../harness/metrics.ts";
import { percent, present, sum } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import type { StageEntry } from "../harness/stage-entry.ts";
import { Activations } from "./activations.ts";
import { PHASES, type Phase, type Rate, ratesOf, SEED, simulatedPhases } from "./live-phases.ts";
import { checkTruth } from "./live-truth.ts";

const BUNDLE = "policies/cascade/bundle.msgpack";
const MODELS = "models/cascade";
const WARM_UP: readonly Rate[] = [
  { seconds: 5, qps: 30 },
  { seconds: 5, qps: 100 },
];
const POLL_MS = 250;

export const live: Experiment = {
  name: "live",
  about: "policies/cascade served under a burst, measured beside simulated",
  takes: "three minutes, on a machine that does nothing else",
  isExtra: true,
  run: serveAll,
};

async function serveAll({ page, folder }: Run): Promise<void> {
  const bundle = await openBundle("inferline", BUNDLE);
  const images = drawImages(HELD_OUT_SEED, HELD_OUT_COUNT);
  const inputs = join(folder, "images.bin");
  writeFileSync(inputs, images.pixels);
  const activations = new Activations(bundle);
  const onEntry = (entry: StageEntry) => activations.onEntry(entry);
  await withServer(startRecorded(BUNDLE, MODELS, onEntry), async ({ url }) => {
    for (const line of [...machineLines(), ...statedLines(bundle)]) page.say(line);
    const bench = (rates: readonly Rate[]) => {
      const trace = join(folder, "rates.txt");
      const perSecond = rates.flatMap(({ seconds, qps }) => new Array<number>(seconds).fill(qps));
      writeFileSync(trace, perSecond.map((qps, second) => `${second} ${qps}\n`).join(""));
      const load = ["--trace", trace, "--seed", SEED, "--slo", `${bundle.slo.latencyMs}ms`];
      return stratagemJson<LoadResult>("bench", url, ...load, "--inputs", inputs);
    };
    await bench(WARM_UP);
    const changes: string[] = [];
    const watch = watchReplicas(url, bundle, changes);
    const measured: LoadResult[] = [];
    for (const phase of PHASES) measured.push(await bench(ratesOf(phase)));
    await watch.end();
    report(page, bundle, measured);
    page.say(`replicas, when they changed:\n${changes.join("\n")}`);
    for (const line of activations.lines) page.say(line);
    await checkTruth(page, url, bundle, images);
  });
}

/** What the bundle promises at each of its levels. */
function statedLines({ levels, tasks }: InferlineBundle): string[] {
  return levels.map(({ loadQps, plan, sample, expected }) => {
    const stages = plan.stages.map(
      ({ replicas, batch }, task) => `${tasks[task]?.name} ${replicas} x batches up to ${batch}`,
    );
    return (
      `bundle at ${loadQps} requests/s: ${stages.join(", ")}; ` +
      `p99 ${sample.estimate.p99Ms.toFixed(1)} ms estimated, ` +
      `${expected.latencyMsP99.toFixed(1)} ms simulated, ` +
      `violations ${percent(expected.violationRate)}`
    );
  });
}

function report(page: Page, bundle: InferlineBundle, measured: readonly LoadResult[]): void {
  const { phases, escalated } = simulatedPhases(bundle);
  for (const [index, phase] of PHASES.entries()) {
    page.say(phaseText(phase, present(measured[index]), present(phases[index])));
  }
  const sent = sum(measured.map(({ queries }) => queries));
  const answered = sum(measured.map(({ queries, dropped }) => queries - dropped));
  const toAccurate = sum(measured.map(({ byVariant }) => byVariant["cnn-xl"]?.queries ?? 0));
  const stated = bundle.tasks[1]?.edges[0]?.share ?? Number.NaN;
  page.say(
    `${sent} requests, ${answered} answered, ${sent - answered} lost; ` +
      `escalated ${percent(toAccurate / answered)}, stated ${percent(stated)}, ` +
      `simulated ${percent(escalated)}`,
  );
  if (answered !== sent) process.exitCode = 1;
}

function phaseText(
  { name, seconds, qps }: Phase,
  { queries, late, latencyMs, sendLagMs, violationRate, errors }: LoadResult,
  expected: ReturnType<typeof simulatedPhases>["phases"][number],
): string {
  const own = latencyMs ?? { p50: Number.NaN, p99: Number.NaN, max: Number.NaN };
  return [
    `${name}, ${qps} requests/s for ${seconds} s: ` +
      `p99 ${own.p99.toFixed(1)} ms measured (p50 ${own.p50.toFixed(1)}, ` +
      `max ${own.max.toFixed(1)}), ${expected.p99.toFixed(1)} ms simulated`,
    `violations ${percent(violationRate)}, ${percent(expected.violationRate)}`,
    `replicas simulated ${expected.mostReplicas} at most, ${expected.lastReplicas} at the end`,
    `${queries} requests, ${late} late, errors ${JSON.stringify(errors)}`,
    `send lag p99 ${sendLagMs?.p99.toFixed(1)} ms`,
  ].join("; ");
}

/** Target, assigned and ready replicas of every task, a line for each change. */
function watchReplicas(url: string, { tasks }: InferlineBundle, changes: string[]) {
  let known = "";
  return watchMetrics(url, POLL_MS, (metrics: Metrics, atMs: number) => {
    const counts = tasks.map(({ name }) => {
      const own = ["target", "assigned", "ready"].map((kind) => {
        return metricOf(metrics, `replicas_${kind}`, name);
      });
      return `${name} ${own.join("/")}`;
    });
    const level = metricOf(metrics, "level");
    const cost = metricOf(metrics, "cost_per_hour");
    const state = `target/assigned/ready ${counts.join(", ")}; level ${level}; ${cost} an hour`;
    if (state !== known) changes.push(`  ${(atMs / 1000).toFixed(1).padStart(6)} s: ${state}`);
    known = state;
  });
}
