/**
 * Cores and instances that change under load: steady traffic, a burst of more than twice as much,
 * and steady traffic again, in one run of two minutes on a live server; beside it what a simulation
 * of the same arrivals says. Server, workers and load generator share the machine. Ends with 1 if a
 * request was lost.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type LoadOptions, type LoadResult, runLoad } from "../../compiler/load/run-load.ts";
import type { ThemisBundle, ThemisLevel } from "../../runtime/bundle/schema.ts";
import { drawImages, IMAGE_BYTES } from "../../tools/image-classification/dataset.ts";
import { drawScenes, SCENE_BYTES } from "../../tools/scenes/dataset.ts";
import { openBundle } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines, startRecorded, withServer } from "../harness/live.ts";
import { percent, present } from "../harness/numbers.ts";
import type { StageEntry } from "../harness/stage-entry.ts";
import { InstanceChanges } from "./instance-changes.ts";
import { type Phase, phasesAt, SEED, simulatedPhases } from "./live-phases.ts";
import { reportPhases, reportTotals } from "./live-report.ts";
import { type ScaleSample, timelineLines, watchScales } from "./scale-samples.ts";

/** Of a burst over what comes before and after it. */
const BURST_RATIO = 2.25;
const TIMEOUT_MS = 10_000;
const ROW_COUNT = 500;

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
  const inputs = drawnInputs(bundle);
  const changes = new InstanceChanges(bundle);
  const onEntry = (entry: StageEntry) => changes.onEntry(entry);
  const models = flags.text("models") ?? "models/scaling";
  await withServer(startRecorded(path, models, onEntry), async ({ url, originMs }) => {
    for (const line of [...machineLines(), ...statedLines(bundle)]) page.say(line);
    if (bundle.policy.predictor === "lstm") {
      page.say("the server's forecasts are a model's, those of the simulation the last maximum");
    }
    const startMs = performance.now();
    const samples: ScaleSample[] = [];
    const watch = watchScales(url, bundle, samples);
    const measured = await sendAll({ url, sloMs: bundle.slo.latencyMs, inputs }, phases, startMs);
    await watch.end();
    reportPhases(page, phases, measured, samples, simulatedPhases(bundle, phases));
    for (const line of timelineLines(samples)) page.say(line);
    const shiftMs = performance.timeOrigin + startMs - originMs;
    for (const line of changes.lines(shiftMs)) page.say(line);
    await reportTotals(page, url, measured);
  });
}

/** What the bundle promises at each of its levels. */
function statedLines({ levels, tasks }: ThemisBundle): string[] {
  const stageText = (
    { instances, cores, batch }: ThemisLevel["steady"]["stages"][number],
    task: number,
  ) => `${tasks[task]?.name} ${instances} of ${coresText(cores)}, batches up to ${batch}`;
  return levels.map(({ loadQps, feasible, steady }, level) => {
    const { cores, expected, stages } = steady;
    const load = `${loadQps} requests/s${feasible ? "" : ", more than the cores carry"}`;
    const promise =
      `p99 ${expected.latencyMsP99.toFixed(1)} ms, ` +
      `violations ${percent(expected.violationRate)} simulated`;
    return (
      `level ${level}, ${load}: ${stages.map(stageText).join(", ")}; ` +
      `${coresText(cores)} in all; ${promise}`
    );
  });
}

function coresText(cores: number): string {
  return cores === 1 ? "1 core" : `${cores} cores`;
}

/** Every phase begins when it is due, whatever is still on its way. */
async function sendAll(
  to: Pick<LoadOptions, "url" | "sloMs" | "inputs">,
  phases: readonly Phase[],
  startMs: number,
): Promise<LoadResult[]> {
  const results: Promise<LoadResult>[] = [];
  let beginMs = startMs;
  for (const [index, { seconds, qps }] of phases.entries()) {
    await pause(Math.max(0, beginMs - performance.now()));
    results.push(
      runLoad({
        ...to,
        model: null,
        arrivals: { kind: "poisson", qps },
        durationMs: 1000 * seconds,
        seed: SEED + index,
        maxOutstanding: 4096,
        warmUpQueries: 0,
        timeoutMs: TIMEOUT_MS,
        nowMs: () => performance.now(),
        onProgress: () => {},
        signal: AbortSignal.timeout(1000 * seconds + 60_000),
      }),
    );
    beginMs += 1000 * seconds;
  }
  return Promise.all(results);
}

/** Images or scenes where the first model takes one; else null, for zeros. */
function drawnInputs({ tasks }: ThemisBundle): LoadOptions["inputs"] {
  const input = present(tasks[0]?.variants[0]?.model?.inputs[0], "a model");
  const isBytes = input.dtype === "uint8";
  const rowBytes = isBytes ? input.shape.slice(1).reduce((size, axis) => size * axis, 1) : 0;
  if (rowBytes !== IMAGE_BYTES && rowBytes !== SCENE_BYTES) return null;
  const draw = rowBytes === IMAGE_BYTES ? drawImages : drawScenes;
  const { pixels } = draw(SEED, ROW_COUNT);
  return (index) => {
    const first = (index % ROW_COUNT) * rowBytes;
    return { bytes: pixels.subarray(first, first + rowBytes), label: null };
  };
}
