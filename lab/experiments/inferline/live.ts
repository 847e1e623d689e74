/**
 * A live cascade: load of a level, a burst above it, and back, beside what a simulation of the same
 * arrivals says; replicas as they come and go; and of the held-out images, how many were rightly
 * named. Server, workers and load generator share the machine. Ends with 1 if a request was lost.
 */
import type { LoadResult } from "stratagem/internal/load/run-load";
import { simulateInferline } from "stratagem/internal/methods/inferline/simulate/simulate";
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import {
  drawImages,
  HELD_OUT_COUNT,
  HELD_OUT_SEED,
  IMAGE_BYTES,
} from "../../models/image-classification/dataset.ts";
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { InstanceChanges, type StageEntry } from "../harness/instance-changes.ts";
import { machineLines, startRecorded, withServer } from "../harness/live.ts";
import {
  changeLines,
  type Metrics,
  metricOf,
  taskWorkersText,
  watchMetrics,
} from "../harness/metrics.ts";
import { percent, present, sum } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import {
  drawnPhases,
  outcomesByPhase,
  PHASE_SEED,
  type Phase,
  phaseText,
  sendPhases,
} from "../harness/phases.ts";
import { checkTruth } from "./live-truth.ts";

const BUNDLE = "policies/cascade/bundle.msgpack";
const MODELS = "models/cascade";
const WARM_UP: readonly Phase[] = [
  { name: "warm-up", seconds: 5, qps: 30 },
  { name: "warm-up", seconds: 5, qps: 100 },
];
/**
 * After the burst the last minute's envelope has to forget it, and 15 s have to be quiet, before
 * replicas go.
 */
const PHASES: readonly Phase[] = [
  { name: "steady", seconds: 30, qps: 250 },
  { name: "burst", seconds: 20, qps: 450 },
  { name: "after", seconds: 100, qps: 125 },
];
const POLL_MS = 250;

export const live: Experiment = {
  name: "live",
  about: "policies/cascade served under a burst, measured beside simulated",
  takes: "three minutes, on a machine that does nothing else",
  isExtra: true,
  run: serveAll,
};

async function serveAll({ page }: Run): Promise<void> {
  const bundle = await openBundle("inferline", BUNDLE);
  const images = drawImages(HELD_OUT_SEED, HELD_OUT_COUNT);
  const inputs = (index: number) => {
    const image = index % HELD_OUT_COUNT;
    const bytes = images.pixels.subarray(image * IMAGE_BYTES, (image + 1) * IMAGE_BYTES);
    return { bytes, label: null };
  };
  const changes = new InstanceChanges(bundle);
  const onEntry = (entry: StageEntry) => changes.onEntry(entry);
  await withServer(startRecorded(BUNDLE, MODELS, onEntry), async ({ url, originMs }) => {
    for (const line of [...machineLines(), ...statedLines(bundle)]) page.say(line);
    const to = { url, sloMs: bundle.slo.latencyMs, inputs };
    await sendPhases(to, WARM_UP, performance.now());
    const startMs = performance.now();
    const watch = watchMetrics(url, POLL_MS, (metrics) => replicasText(metrics, bundle));
    const measured = await sendPhases(to, PHASES, startMs);
    const samples = await watch.end();
    report(page, bundle, measured);
    page.say("replicas target/assigned/ready, when they changed:");
    for (const line of changeLines(samples)) page.say(line);
    for (const line of changes.lines(performance.timeOrigin + startMs - originMs)) page.say(line);
    await checkTruth(page, url, bundle, images);
  });
}

/** What the bundle promises at each of its levels. */
function statedLines({ levels, tasks }: InferlineBundle): string[] {
  return levels.map(({ loadQps, plan, sample, expected }) => {
    const stages = plan.stages.map(
      ({ replicas, batch }, task) => `${tasks[task]?.name} ${replicas} x batches up to ${batch}`,
    );
    const estimated = `p99 ${sample.estimate.p99Ms.toFixed(1)} ms estimated`;
    const simulated = `${expected.latencyMsP99.toFixed(1)} ms simulated`;
    const late = `violations ${percent(expected.violationRate)}`;
    const promise = `${estimated}, ${simulated}, ${late}`;
    return `bundle at ${loadQps} requests/s: ${stages.join(", ")}; ${promise}`;
  });
}

function report(page: Page, bundle: InferlineBundle, measured: readonly LoadResult[]): void {
  const drawn = drawnPhases(taskGraphOf(bundle), PHASES);
  const { latencyMsByRequest, timeline, byTask } = simulateInferline(bundle, {
    // Of requests as they are no rate is known beforehand, so that it begins with the highest
    // level, as the server does.
    arrivals: { kind: "requests", trace: drawn.trace },
    durationMs: drawn.durationMs,
    seed: PHASE_SEED,
    serviceTimes: "p95",
    timeline: true,
    withLatencies: true,
  });
  const sloMs = bundle.slo.latencyMs;
  const outcomes = outcomesByPhase(PHASES, drawn, latencyMsByRequest, timeline, sloMs);
  for (const [index, phase] of PHASES.entries()) {
    const expected = present(outcomes[index]);
    const most = Math.max(...expected.seconds.map(({ servers }) => servers));
    const last = expected.seconds.at(-1)?.servers;
    const replicas = `replicas simulated ${most} at most, ${last} at the end`;
    page.say(phaseText(phase, present(measured[index]), expected, replicas));
  }
  const [gate, accurate] = Object.values(byTask);
  const sent = sum(measured.map(({ queries }) => queries));
  const answered = sum(measured.map(({ queries, dropped }) => queries - dropped));
  const toAccurate = sum(measured.map(({ byVariant }) => byVariant["cnn-xl"]?.queries ?? 0));
  const stated = bundle.tasks[1]?.edges[0]?.share ?? Number.NaN;
  const simulated = present(accurate).queries / present(gate).queries;
  const shares = `stated ${percent(stated)}, simulated ${percent(simulated)}`;
  page.say(`${sent} requests, ${answered} answered, ${sent - answered} lost`);
  page.say(`escalated ${percent(toAccurate / answered)}, ${shares}`);
  if (answered !== sent) process.exitCode = 1;
}

function replicasText(metrics: Metrics, { tasks }: InferlineBundle): string {
  const counts = tasks.map(({ name }) => taskWorkersText(metrics, name));
  const level = metricOf(metrics, "level");
  return `${counts.join(", ")}; level ${level}; ${metricOf(metrics, "cost_per_hour")} an hour`;
}
