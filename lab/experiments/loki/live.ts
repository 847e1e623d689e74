/**
 * A live pipeline under a rising load, through changes of plan: what the client measured beside
 * what a simulation of the same load says, and what of the scenes' letters was really found and
 * named. Server, workers and load generator share the machine.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { LoadResult } from "stratagem/internal/load/run-load";
import type { LokiSimulationResult } from "stratagem/internal/methods/loki/simulate/simulate";
import { classesOf } from "../../answers.ts";
import {
  CLASS_NAMES,
  drawScenes,
  HELD_OUT_SEED,
  SCENE_BYTES,
  SCENE_SIDE,
} from "../../models/scenes/dataset.ts";
import { boxesOf, matchCrops } from "../../models/scenes/measure.ts";
import { stratagemJson } from "../harness/cli.ts";
import type { Experiment, Run } from "../harness/experiment.ts";
import { machineLines, startServe, withServer } from "../harness/live.ts";
import { metricsText } from "../harness/metrics.ts";
import { percent, present } from "../harness/numbers.ts";
import type { Page } from "../harness/page.ts";
import { infer } from "../harness/requests.ts";

const BUNDLE = "policies/scenes/bundle.msgpack";
const SLO = "100ms";
/** Every phase belongs to another plan. */
const PHASES = [
  { seconds: 20, qps: 100 },
  { seconds: 20, qps: 210 },
  { seconds: 20, qps: 420 },
];
const SCENES = 400;
/** Scenes whose answers are compared with the truth, one after another, under no other load. */
const CHECKED = 200;

type Scenes = ReturnType<typeof drawScenes>;

export const live: Experiment = {
  name: "live",
  about: "policies/scenes served under a rising load, measured beside simulated",
  takes: "three minutes, on a machine that does nothing else",
  isExtra: true,
  run: serveAll,
};

async function serveAll({ page, folder }: Run): Promise<void> {
  const scenes = drawScenes(HELD_OUT_SEED, SCENES);
  const inputs = join(folder, "scenes.bin");
  writeFileSync(inputs, scenes.pixels);
  await withServer(startServe(BUNDLE, ["--models", "models/scenes"]), async ({ url }) => {
    const bench = (load: readonly string[]) =>
      stratagemJson<LoadResult>("bench", url, ...load, "--slo", SLO, "--inputs", inputs);
    const both = async (name: string, load: readonly string[]) => {
      const measured = await bench(load);
      const simulated = await stratagemJson<LokiSimulationResult>(...["simulate", BUNDLE, ...load]);
      page.say(`${name}: ${besideText(measured, simulated)}`);
    };
    for (const line of machineLines()) page.say(line);
    await bench(["--arrivals", "poisson:50", "--duration", "5s"]);
    for (const { seconds, qps } of PHASES) {
      // The demand is known once its average has settled.
      await bench(["--arrivals", `poisson:${qps}`, "--duration", "6s"]);
      await both(`${qps} requests/s`, [
        "--arrivals",
        `poisson:${qps}`,
        "--duration",
        `${seconds}s`,
      ]);
    }
    await both("all, rising", ["--arrivals", `trace:${risingTrace(folder)}`]);
    await checkTruth(page, url, scenes);
    const counts = /^stratagem_(workers|task_workers|level|fanout)/;
    const lines = (await metricsText(url)).split("\n");
    for (const line of lines.filter((own) => counts.test(own))) page.say(line);
  });
}

/** All phases in one, without a break. @returns the file. */
function risingTrace(folder: string): string {
  let second = 0;
  const rows = PHASES.map(({ seconds, qps }) => {
    second += seconds;
    return `${second - seconds} ${qps}\n`;
  });
  const file = join(folder, "rising.txt");
  writeFileSync(file, rows.join(""));
  return file;
}

function besideText(measured: LoadResult, simulated: LokiSimulationResult): string {
  const { accuracyPerSatisfied, violationRate, latencyMs, queries, errors, sendLagMs } = measured;
  return [
    `accuracy ${percent(accuracyPerSatisfied)} measured, ` +
      `${percent(simulated.accuracyPerSatisfied)} simulated`,
    `violations ${percent(violationRate)}, ${percent(simulated.violationRate)}`,
    `p99 ${latencyMs?.p99.toFixed(1)} ms, ${simulated.latencyMs?.p99.toFixed(1)} ms`,
    `${queries} requests, errors ${JSON.stringify(errors)}, ` +
      `send lag p99 ${sendLagMs?.p99.toFixed(1)} ms`,
  ].join("; ");
}

/** Letters that were found and rightly named, of all. */
async function checkTruth(page: Page, url: string, scenes: Scenes): Promise<void> {
  let right = 0;
  let letters = 0;
  let stated = 0;
  for (let scene = 0; scene < CHECKED; scene++) {
    const start = scene * SCENE_BYTES;
    const answer = await infer(url, "scenes", {
      name: "scene",
      datatype: "UINT8",
      shape: [1, 1, SCENE_SIDE, SCENE_SIDE],
      data: Array.from(scenes.pixels.subarray(start, start + SCENE_BYTES)),
    });
    const boxes = boxesOf(answer.values("detect.boxes"));
    const classes = classesOf(answer.values("identify.logits"), CLASS_NAMES.length);
    for (const { classIndex, crop } of matchCrops(
      [present(scenes.objectsByScene[scene])],
      [boxes],
    )) {
      letters++;
      if (crop >= 0 && classes[crop] === classIndex) right++;
    }
    stated += answer.accuracy;
  }
  page.say(
    `by the truth of ${CHECKED} scenes: ${percent(right / letters)} of ${letters} ` +
      `letters found and rightly named, stated ${percent(stated / CHECKED)}`,
  );
}
