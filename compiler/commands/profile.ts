/**
 * `stratagem profile APP -o FILE`: measures on this machine how long the variants of an application
 * take.
 */
import { rm } from "node:fs/promises";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { EXIT_CODES, RuntimeError } from "stratagem-runtime/internal/errors";
import { alignColumns } from "stratagem-runtime/internal/tell/text";
import { expectWritable, writeAllAtomically } from "../atomic-write.ts";
import { hasFiniteNumbers } from "../profile/finite-outputs.ts";
import {
  describeMeasurement,
  latencyProfile,
  type Measurement,
} from "../profile/latency-profile.ts";
import { runCountOf } from "../profile/measure.ts";
import {
  isNoisy,
  measureRounds,
  type RoundOptions,
  type RoundSources,
  refuseNoise,
} from "../profile/measured-rounds.ts";
import { partialPath, readPartial, writePartial } from "../profile/partial-file.ts";
import {
  type PlanSources,
  type ProfileOptions,
  type ProfilePlan,
  planProfile,
} from "../profile/profile-plan.ts";

export interface ProfileCommand extends ProfileOptions {
  /** Says what would be measured and measures nothing. */
  readonly dryRun: boolean;
  /** Writes the profile however noisy the machine is. */
  readonly force: boolean;
}

export interface ProfileSurroundings extends PlanSources, RoundSources {}

/**
 * @throws InputError for a spec or model that is no good and for a machine that is too noisy; the
 * reason of an aborted signal.
 */
export async function profileCommand(
  command: ProfileCommand,
  surroundings: ProfileSurroundings,
): Promise<CommandResult> {
  const { out, force, dryRun } = command;
  const plan = await planProfile(command, surroundings);
  if (dryRun) return describePlan(plan, out);
  const paths = { profile: out, measurement: `${out}.measurement.json` };
  for (const path of [out, paths.measurement, partialPath(out)]) await expectWritable(path);
  const earlier = await readPartial(out, plan);
  const isFinished = earlier?.[0]?.wallMs.length === plan.repeat;
  // A finished one was refused for its noise: --force takes it, anything else wants it measured
  // again.
  const notFinite = new Set<string>();
  const onOutputs: RoundOptions["onOutputs"] = (index, outputs) => {
    const variant = plan.variants[index];
    const infos = variant?.model.outputs ?? [];
    const isSound = outputs.every(({ bytes }, output) => {
      const info = infos[output];
      return info === undefined || hasFiniteNumbers(info, bytes);
    });
    if (variant !== undefined && !isSound) notFinite.add(variant.name);
  };
  const cells =
    isFinished && force
      ? earlier
      : await measureRounds(plan, out, isFinished ? null : earlier, surroundings, { onOutputs });
  const measurement = describeMeasurement(plan, cells);
  if (!force && isNoisy(measurement)) {
    // Kept, so that --force can still take it.
    await writePartial(out, plan, cells);
    refuseNoise(out, measurement);
  }
  await writeAllAtomically([
    { path: paths.measurement, bytes: jsonBytes(measurement) },
    { path: paths.profile, bytes: jsonBytes(latencyProfile(plan, cells)) },
  ]);
  await rm(partialPath(out), { force: true });
  return report(plan, measurement, paths, [...notFinite]);
}

/** Batch sizes as `--batches` has them. @returns ascending, each once. @throws RuntimeError */
export function parseBatches(text: string): number[] {
  const batches = text
    .split(",")
    .map((size) => (/^\s*[1-9]\d{0,4}\s*$/.test(size) ? Number(size) : 0));
  if (!batches.includes(0)) return [...new Set(batches)].sort((a, b) => a - b);
  throw new RuntimeError("RUNTIME_USAGE", `expected --batches such as 1,2,4,8, got "${text}"`);
}

/** Numbers of cores as `--cores` has them, in their order. @throws RuntimeError */
export function parseCores(text: string): number[] {
  const cores = text
    .split(",")
    .map((count) => (/^\s*[1-9]\d{0,3}\s*$/.test(count) ? Number(count) : 0));
  const expected = `expected --cores such as 1,2,4, each at least 1 and named once, got "${text}"`;
  if (!cores.includes(0) && new Set(cores).size === cores.length) return cores;
  throw new RuntimeError("RUNTIME_USAGE", expected);
}

function describePlan(plan: ProfilePlan, out: string): CommandResult {
  const { variants, batches, repeat, cores, isByCores, device, hardware, machine } = plan;
  const runs = runCountOf(plan);
  const rows = variants.map(({ name, path, accuracy }) => [
    name,
    accuracy === null ? "-" : String(accuracy),
    path,
  ]);
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `would measure ${variants.length} variants at batches ` +
        `${batches.join(", ")}${isByCores ? ` on ${cores.join(", ")} cores` : ""}, ${repeat} ` +
        `times each: ${runs} runs with the warm-up`,
      `hardware ${hardware}, device ${device}${isByCores ? "" : `, threads ${cores[0]}`}; ` +
        `would write ${out}`,
      "",
      alignColumns([["variant", "accuracy", "model"], ...rows]),
    ].join("\n"),
    json: {
      profile: out,
      hardware,
      device,
      threads: cores[0],
      cores,
      batches,
      repeat,
      runs,
      machine,
      variants: variants.map(({ name, path, accuracy, model: { sha256 } }) => {
        return { name, accuracy, model: path, sha256 };
      }),
    },
  };
}

function report(
  plan: ProfilePlan,
  measurement: Measurement,
  paths: { readonly profile: string; readonly measurement: string },
  notFinite: readonly string[],
): CommandResult {
  const { noise, cells } = measurement;
  const rows = cells.map(({ variant, batch, cores, wallMs, cpuMs }) => [
    variant,
    ...(plan.isByCores ? [String(cores)] : []),
    String(batch),
    ...[wallMs.p50, wallMs.p95, wallMs.p99, cpuMs.p50, wallMs.p50 / batch].map(ms),
  ]);
  const figures = ["p50 ms", "p95 ms", "p99 ms", "CPU p50 ms", "p50 ms/query"];
  const heading = ["variant", ...(plan.isByCores ? ["cores"] : []), "batch", ...figures];
  const waiting =
    noise.waitingShare === null
      ? ""
      : `; ${Math.round(100 * noise.waitingShare)}% of the time in the worker ` +
        `${plan.isByCores ? "on 1 core " : ""}went to waiting for a processor`;
  const unknown = plan.variants.filter(({ accuracy }) => accuracy === null);
  return {
    exitCode: EXIT_CODES.ok,
    text: [
      `${paths.profile}: ${plan.variants.length} variants at ${plan.batches.length} batch ` +
        `sizes${plan.isByCores ? ` on ${plan.cores.join(", ")} cores` : ""}, ${plan.repeat} ` +
        "runs each",
      `noise ${noise.figure.toFixed(2)} (mean p95 ÷ p50, limit ${noise.limit})${waiting}`,
      ...(unknown.length === 0
        ? []
        : [`no accuracy is known of: ${unknown.map(({ name }) => name).join(", ")}`]),
      ...(notFinite.length === 0
        ? []
        : [`outputs for random inputs are NaN or infinite: ${notFinite.join(", ")}`]),
      "",
      alignColumns([heading, ...rows]),
    ].join("\n"),
    json: { ...paths, ...(notFinite.length === 0 ? {} : { notFinite }), ...measurement },
  };
}

function ms(value: number): string {
  return value.toFixed(3);
}

export function jsonBytes(value: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
}
