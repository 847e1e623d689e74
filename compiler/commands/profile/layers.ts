/**
 * Implements `stratagem profile --layers APP -o FILE`: measures the layers of the models and the
 * stages of their best cuts.
 */

import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { explainedTable } from "stratagem-runtime/internal/describe/text";
import { expectWritable, writeAllAtomically } from "../../base/atomic-write.ts";
import {
  describeMeasurement,
  latencyProfile,
  type Measurement,
} from "../../profile/latency-profile.ts";
import { addedUpMs } from "../../profile/layer-times.ts";
import {
  type LayerSources,
  type LayerTimes,
  layerPartials,
  layerRunCounts,
  layerSpecs,
  type MeasuredLayers,
  measureLayers,
  removePartials,
} from "../../profile/measured-layers.ts";
import { type DepthTimes, mostStagesOf, rangesOf } from "../../profile/measured-stages.ts";
import { isTooNoisy, noiseLines, refuseNoise } from "../../profile/noise-messages.ts";
import { type PlanSources, type ProfilePlan, planProfile } from "../../profile/profile-plan.ts";
import { expectOut, jsonBytes, orNameKept, type ProfileCommand, pathsOf } from "./profile.ts";
import type { ProfilePaths } from "./report.ts";

/**
 * A pipeline runs one instance in each stage at a time, and each stage on the cores of its place.
 */
export type ProfileLayersCommand = Omit<
  ProfileCommand,
  "batches" | "cores" | "budgetMs" | "effort"
>;

export interface LayerSurroundings
  extends Required<Pick<PlanSources, "openLayers">>,
    Omit<PlanSources, "openLayers">,
    LayerSources {}

/** Measurement record with the layers and stages. */
interface LayerMeasurement extends Measurement {
  readonly layers: readonly LayerTimes[];
  /** Stages of every variant and depth. */
  readonly depths: readonly DepthTimes[];
}

/**
 * @throws InputError for an invalid spec or model, a model that cannot be cut, and a noisy machine;
 * the reason of an aborted signal.
 */
export async function profileLayersCommand(
  command: ProfileLayersCommand,
  surroundings: LayerSurroundings,
): Promise<CommandResult> {
  const { force, dryRun } = command;
  expectOut(command);
  const plan = await planProfile({ ...command, batches: [1], cores: null }, surroundings);
  if (dryRun) return describePlan(plan, command.out);
  const out = expectOut(command);
  const paths = pathsOf(out);
  for (const path of [out, paths.measurement]) await expectWritable(path);
  const partials = layerPartials(out);
  const measured = await orNameKept(partials, () => measureLayers(plan, out, force, surroundings));
  const measurement = {
    ...describeMeasurement(measured.plan, measured.cells, null, false),
    layers: measured.layers,
    depths: measured.depths,
  };
  if (!force && isTooNoisy(measurement)) refuseNoise(out, measurement, partials);
  const profile = latencyProfile(plan, measured.cells, layerSpecs(measured));
  await writeAllAtomically([
    { path: paths.measurement, bytes: jsonBytes(measurement) },
    { path: paths.profile, bytes: jsonBytes(profile) },
  ]);
  await removePartials(out);
  return report(plan, measured, measurement, paths);
}

/** @param batches value of `--batches`. @throws RuntimeError if it is not 1. */
export function requireSingleInstances(batches: readonly number[]): void {
  if (batches.join() === "1") return;
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `expected --batches 1 with --layers, got ${batches.join(",")}: a pipeline ` +
      "runs one instance in each stage at a time",
  );
}

function describePlan(plan: ProfilePlan, out: string | null): CommandResult {
  const { variants, repeat, cores, device, hardware, machine, maxDepth } = plan;
  const runs = layerRunCounts(plan);
  const described = variants.map((variant) => {
    const { name, path, accuracy, layers, model } = variant;
    return {
      name,
      accuracy,
      model: path,
      sha256: model.sha256,
      layers: layers?.layerCount ?? 0,
      mostStages: mostStagesOf(variant, maxDepth),
    };
  });
  const rows = described.map(({ name, accuracy, layers, mostStages, model }) => {
    return [
      name,
      accuracy === null ? "-" : String(accuracy),
      String(layers),
      String(mostStages),
      model,
    ];
  });
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `would measure ${variants.length} models and their layers, ${repeat} times each: ` +
        `${runs.layers} runs with the warm-up; then the stages of their best cuts into 1 to ` +
        `${maxDepth}: at most ${runs.mostStages} runs`,
      `hardware ${hardware}, device ${device}, threads ${cores[0]}; ` +
        `would write ${out ?? "the file of -o"}`,
      "",
      explainedTable([["variant", "accuracy", "layers", "most stages", "model"], ...rows]),
    ].join("\n"),
    json: {
      profile: out,
      hardware,
      device,
      threads: cores[0],
      repeat,
      maxDepth,
      runs: runs.layers,
      mostStageRuns: runs.mostStages,
      machine,
      variants: described,
    },
  };
}

function report(
  plan: ProfilePlan,
  { layers, depths }: MeasuredLayers,
  measurement: LayerMeasurement,
  paths: ProfilePaths,
): CommandResult {
  const stageCount = depths.reduce((sum, { stages }) => sum + stages.length, 0);
  const models = plan.variants.length === 1 ? "1 model" : `${plan.variants.length} models`;
  const unknown = plan.variants.filter(({ accuracy }) => accuracy === null);
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${paths.profile}: ${models} and ${stageCount} stages, ${plan.repeat} runs each`,
      `${paths.measurement}: how it was measured`,
      ...noiseLines(measurement, false),
      ...(unknown.length === 0
        ? []
        : [`without accuracy: ${unknown.map(({ name }) => name).join(", ")}`]),
      ...layers.map((times) => `\n${modelText(times, depths)}`),
    ].join("\n"),
    json: { ...paths, ...measurement },
  };
}

function modelText(times: LayerTimes, depths: readonly DepthTimes[]): string {
  const { variant, names, wholeMs, overheadMs, layerMs, cuts } = times;
  const own = depths.filter((depth) => depth.variant === variant);
  const layerRows = layerMs.map((layer, index) => [String(index), ms(layer), names[index] ?? ""]);
  const depthRows = cuts.map((cut, index) => depthRow(cut, times, own[index]));
  const depthHeading = ["depth", "cut", "heaviest ms", "sum ms", "slowest ms", "stage ms"];
  return [
    `${variant}: ${layerMs.length === 1 ? "1 layer" : `${layerMs.length} layers`}, ` +
      `${ms(wholeMs)} ms inside the worker and ${ms(overheadMs)} of overhead`,
    explainedTable([["layer", "ms", "operators"], ...layerRows]),
    "",
    explainedTable([depthHeading, ...depthRows]),
  ].join("\n");
}

/**
 * Shows mean times of the stages measured together, the predicted time of the heaviest, and the
 * slowest stage of each round.
 */
function depthRow(
  cut: readonly number[],
  { layerMs, overheadMs }: LayerTimes,
  depth: DepthTimes | undefined,
): string[] {
  const addedUp = rangesOf(cut).map((range) => addedUpMs(layerMs, overheadMs, range));
  const measured = depth?.stages.map(({ wallMs }) => wallMs.mean) ?? [];
  return [
    String(cut.length),
    cut.join("+"),
    ms(Math.max(...measured)),
    ms(Math.max(...addedUp)),
    ms(depth?.slowestMs.mean ?? Number.NaN),
    measured.map(ms).join(" "),
  ];
}

function ms(value: number): string {
  return value.toFixed(3);
}
