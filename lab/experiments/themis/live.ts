/**
 * Cores and instances that change under load: steady traffic, a burst of more than twice as much,
 * and steady traffic again, in one run of two minutes on a live server; beside it what a simulation
 * of the same arrivals says. Server, workers and load generator share the machine. Ends with 1 if a
 * request was lost.
 */
import type { LoadOptions, LoadResult } from "stratagem/internal/load/run-load";
import { simulateThemis } from "stratagem/internal/methods/themis/simulate/simulate";
import type { ThemisBundle } from "stratagem-runtime/internal/bundle/schema";
import { taskGraphOf } from "stratagem-runtime/internal/core/graph/task-graph";
import { drawImages, IMAGE_BYTES } from "../../models/image-classification/dataset.ts";
import { drawScenes, SCENE_BYTES } from "../../models/scenes/dataset.ts";
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { coresText, InstanceChanges, type StageEntry } from "../harness/instance-changes.ts";
import { machineLines, startRecorded, withServer } from "../harness/live.ts";
import {
  changeLines,
  type Metrics,
  metricOf,
  metricsOf,
  type Sample,
  sumOf,
  taskWorkersText,
  watchMetrics,
} from "../harness/metrics.ts";
import { mean, percent, present, sum } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import {
  drawnPhases,
  fatesOf,
  outcomesByPhase,
  PHASE_SEED,
  type Phase,
  phaseText,
  sendPhases,
} from "../harness/phases.ts";

/** Of a burst over what comes before and after it. */
const BURST_RATIO = 2.25;
const ROW_COUNT = 500;
const POLL_MS = 100;

export const live: Experiment = {
  name: "live",
  about: "policies/scaling served under a burst, measured beside simulated",
  takes: "two minutes, on a machine that does nothing else",
  options: {
    bundle: "policies/scaling/bundle.msgpack",
    models: "models/scaling",
    burst: "requests/s; nine tenths of what the highest level is for",
    steady: "requests/s; 2.25 times less",
  },
  isExtra: true,
  run: serveAll,
};

async function serveAll({ page, flags }: Run): Promise<void> {
  const path = flags.text("bundle") ?? "policies/scaling/bundle.msgpack";
  const bundle = await openBundle("themis", path);
  const highest = present(bundle.levels.at(-1));
  const burstQps = flags.number("burst") ?? Math.round(0.9 * highest.capacityQps);
  const phases = phasesAt(flags.number("steady") ?? Math.round(burstQps / BURST_RATIO), burstQps);
  const changes = new InstanceChanges(bundle);
  const onEntry = (entry: StageEntry) => changes.onEntry(entry);
  const models = flags.text("models") ?? "models/scaling";
  await withServer(startRecorded(path, models, onEntry), async ({ url, originMs }) => {
    for (const line of [...machineLines(), ...statedLines(bundle)]) page.say(line);
    if (bundle.policy.predictor === "lstm") {
      page.say("the server's forecasts are a model's, those of the simulation the last maximum");
    }
    const to = { url, sloMs: bundle.slo.latencyMs, inputs: drawnInputs(bundle) };
    const startMs = performance.now();
    const watch = watchMetrics(url, POLL_MS, (metrics) => scalesText(metrics, bundle));
    const measured = await sendPhases(to, phases, startMs);
    const samples = await watch.end();
    report(page, bundle, phases, measured, samples);
    page.say("level (goal); instances up/assigned/target x cores of each, cores held, by task:");
    for (const line of changeLines(samples)) page.say(line);
    for (const line of changes.lines(performance.timeOrigin + startMs - originMs)) page.say(line);
    reportTotals(page, await metricsOf(url), measured);
  });
}

/** A server begins with the plan of its highest level: the first phase is for it to come down. */
function phasesAt(steadyQps: number, burstQps: number): Phase[] {
  return [
    { name: "start", seconds: 30, qps: steadyQps },
    { name: "steady", seconds: 20, qps: steadyQps },
    { name: "burst", seconds: 25, qps: burstQps },
    { name: "after", seconds: 45, qps: steadyQps },
  ];
}

/** What the bundle promises at each of its levels. */
function statedLines({ levels, tasks }: ThemisBundle): string[] {
  return levels.map(({ loadQps, feasible, steady }, level) => {
    const { cores, expected } = steady;
    const stages = steady.stages.map(({ instances, cores: own, batch }, task) => {
      return `${tasks[task]?.name} ${instances} of ${coresText(own)}, batches up to ${batch}`;
    });
    const load = `${loadQps} requests/s${feasible ? "" : ", more than the cores carry"}`;
    const late = `violations ${percent(expected.violationRate)} simulated`;
    const promise = `p99 ${expected.latencyMsP99.toFixed(1)} ms, ${late}`;
    const held = `${stages.join(", ")}; ${coresText(cores)} in all`;
    return `level ${level}, ${load}: ${held}; ${promise}`;
  });
}

/** Images or scenes where the first model takes one; else null, for zeros. */
function drawnInputs({ tasks }: ThemisBundle): LoadOptions["inputs"] {
  const input = present(tasks[0]?.variants[0]?.model?.inputs[0], "a model");
  const isBytes = input.dtype === "uint8";
  const rowBytes = isBytes ? input.shape.slice(1).reduce((size, axis) => size * axis, 1) : 0;
  if (rowBytes !== IMAGE_BYTES && rowBytes !== SCENE_BYTES) return null;
  const draw = rowBytes === IMAGE_BYTES ? drawImages : drawScenes;
  const { pixels } = draw(PHASE_SEED, ROW_COUNT);
  return (index) => {
    const first = (index % ROW_COUNT) * rowBytes;
    return { bytes: pixels.subarray(first, first + rowBytes), label: null };
  };
}

function scalesText(metrics: Metrics, { tasks }: ThemisBundle): string {
  const stages = tasks.map(({ name }) => {
    const task = `task="${name}"`;
    const each = sumOf(metrics, "worker_cores_target", task);
    const held = sumOf(metrics, "cores", task, 'state="held"');
    return `${taskWorkersText(metrics, name)} x ${each}, ${held}`;
  });
  return `${metricOf(metrics, "level")}; ${stages.join("; ")}`;
}

function report(
  page: Page,
  bundle: ThemisBundle,
  phases: readonly Phase[],
  measured: readonly LoadResult[],
  samples: readonly Sample[],
): void {
  const drawn = drawnPhases(taskGraphOf(bundle), phases);
  const { timeline, latencyMsByRequest, scaling } = simulateThemis(bundle, {
    arrivals: { kind: "requests", trace: drawn.trace },
    durationMs: drawn.durationMs,
    seed: PHASE_SEED,
    startLevel: bundle.levels.length - 1,
    timeline: true,
    withLatencies: true,
  });
  const sloMs = bundle.slo.latencyMs;
  const outcomes = outcomesByPhase(phases, drawn, latencyMsByRequest, timeline, sloMs);
  let beginMs = 0;
  for (const [index, phase] of phases.entries()) {
    const endMs = beginMs + 1000 * phase.seconds;
    const own = samples.filter(({ atMs }) => atMs >= beginMs && atMs < endMs);
    const held = own.map(({ metrics }) => sumOf(metrics, "cores", 'state="held"'));
    beginMs = endMs;
    const expected = present(outcomes[index]);
    const simulated = expected.seconds.map(({ cores }) => cores ?? 0);
    const cores = `cores ${coresHeld(held)} measured, ${coresHeld(simulated)} simulated`;
    page.say(phaseText(phase, present(measured[index]), expected, cores));
  }
  const { bursts, settled, resizes, up, down } = scaling;
  page.say(
    `simulated in all: ${bursts} bursts met, ${settled} plans settled on, ${resizes} resizes, ` +
      `${up} instances started, ${down} stopped`,
  );
}

function coresHeld(cores: readonly number[]): string {
  return `${mean(cores).toFixed(2)} (most ${Math.max(...cores)})`;
}

/** Ends with 1 unless all that was sent is accounted for. */
function reportTotals(page: Page, metrics: Metrics, measured: readonly LoadResult[]): void {
  const [more, fewer] = ["up", "down"].map((direction) =>
    sumOf(metrics, "scaling_actions_total", `direction="${direction}"`),
  );
  page.say(`measured in all: ${more} times more cores for an instance, ${fewer} times fewer`);
  const fates = measured.map(({ errors }) => fatesOf(errors));
  const lost = sum(fates.map((fate) => fate.lost));
  const failed = sum(fates.map((fate) => fate.failed));
  const sent = sum(measured.map(({ queries }) => queries));
  const counted = sumOf(metrics, "queries_total");
  page.say(`${sent} requests sent, ${lost} lost; the server counted ${counted}`);
  // What it counts is answered or given up; what failed is neither.
  if (lost > 0 || counted + failed !== sent) process.exitCode = 1;
}
