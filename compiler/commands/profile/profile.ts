/**
 * Implements `stratagem profile APP -o FILE`: measures the latencies of an application's variants
 * on this machine.
 */

import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { TensorInfo } from "stratagem-runtime/internal/bundle/schema";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { halfToNumber } from "stratagem-runtime/internal/core/half";
import { expectWritable, writeAllAtomically } from "../../base/atomic-write.ts";
import { InterruptedError } from "../../base/errors.ts";
import { firstCells } from "../../profile/budget.ts";
import { describeMeasurement, latencyProfile } from "../../profile/latency-profile.ts";
import type { Cell } from "../../profile/measure.ts";
import { LabelledRows, type MeasuredAccuracy } from "../../profile/measured-accuracy.ts";
import {
  measureRounds,
  type RoundOptions,
  type RoundSources,
} from "../../profile/measured-rounds.ts";
import type { MeasuredStart, measureStarts } from "../../profile/measured-starts.ts";
import { isTooNoisy, refuseNoise } from "../../profile/noise-messages.ts";
import { partialPath, readPartial, writePartial } from "../../profile/partial-file.ts";
import {
  type PlanSources,
  type ProfileOptions,
  type ProfilePlan,
  planProfile,
} from "../../profile/profile-plan.ts";
import type { Effort } from "../../profile/rounds.ts";
import { InputError } from "../../spec/document/input-error.ts";
import { describePlan, type ProfilePaths, report } from "./report.ts";

export interface ProfileCommand extends ProfileOptions {
  /** Describes the measurement without running it. */
  readonly dryRun: boolean;
  /** Writes the profile even if the machine is too noisy. */
  readonly force: boolean;
  /** Time budget for the most useful cells; null to measure all. */
  readonly budgetMs: number | null;
  readonly effort: Effort;
}

export interface ProfileSurroundings extends PlanSources, RoundSources {
  /** Measures the start of new workers; left out to skip it. */
  readonly measureStarts?: typeof measureStarts;
  /** Called with messages during the work. */
  readonly onNote: (line: string) => void;
}

/** Duration above which the estimated time is announced. */
const LONG_MS = 60_000;

/**
 * @throws InputError for an invalid spec or model, a noisy machine or a small budget; RuntimeError
 * without an output file; InterruptedError; the reason of an aborted signal.
 */
export async function profileCommand(
  command: ProfileCommand,
  surroundings: ProfileSurroundings,
): Promise<CommandResult> {
  const { force, dryRun, budgetMs } = command;
  expectOut(command);
  const plan = await planProfile(command, surroundings);
  const labelled = await labelledRows(command, plan);
  noteOtherDevice(plan, surroundings.onNote);
  if (dryRun) return describePlan(plan, command.out, budgetMs);
  const out = expectOut(command);
  const paths = pathsOf(out);
  for (const path of [out, paths.measurement, partialPath(out)]) await expectWritable(path);
  const earlier = await readPartial(out, plan);
  const outputs = new OutputWatch(plan, labelled);
  const starts = await startsOf(plan, budgetMs, surroundings);
  // --force accepts a measurement that was refused as noisy; otherwise it is repeated.
  const cells =
    earlier?.isRefused && force
      ? earlier.cells
      : await orNameKept([partialPath(out)], () =>
          measureRounds(plan, out, earlier?.isRefused ? null : earlier, surroundings, {
            onOutputs: outputs.look,
            onEstimate: (ms) => announce(ms, surroundings.onNote),
            effort: command.effort,
            budgetMs,
          }),
        );
  expectEveryVariant(cells, out, budgetMs);
  const measurement = describeMeasurement(plan, cells, budgetMs, budgetMs === null);
  if (!force && isTooNoisy(measurement)) {
    // Kept for a later --force.
    await writePartial(out, plan, { cells, spentMs: 0, isRefused: true });
    refuseNoise(out, measurement, [partialPath(out)]);
  }
  // Kept for the next try, if the labels are wrong or there is an interruption.
  if (labelled !== null) {
    await writePartial(out, plan, { cells, spentMs: budgetMs ?? 0, isRefused: force });
  }
  const accuracies = await orNameKept([partialPath(out)], async () => {
    return (await labelled?.measure(plan, surroundings)) ?? [];
  });
  const rated = withAccuracies(plan, accuracies);
  await writeAllAtomically([
    { path: paths.measurement, bytes: jsonBytes(measurement) },
    { path: paths.profile, bytes: jsonBytes(latencyProfile(rated, cells, undefined, starts)) },
  ]);
  await rm(partialPath(out), { force: true });
  return report(rated, measurement, paths, outputs.notFinite(), starts, accuracies);
}

async function labelledRows(
  { labels = null, inputs = null }: ProfileCommand,
  plan: ProfilePlan,
): Promise<LabelledRows | null> {
  if (labels === null) return null;
  if (inputs !== null) return LabelledRows.read(labels, plan);
  throw new RuntimeError("RUNTIME_USAGE", "expected --inputs with --labels, got none");
}

function withAccuracies(plan: ProfilePlan, measured: readonly MeasuredAccuracy[]): ProfilePlan {
  const byName = new Map(measured.map(({ variant, accuracy }) => [variant, accuracy]));
  const variants = plan.variants.map((variant) => {
    return { ...variant, accuracy: byName.get(variant.name) ?? variant.accuracy };
  });
  return { ...plan, variants };
}

/** Measures starts; with a budget only for GPUs, whose fallback nodes matter. */
async function startsOf(
  plan: ProfilePlan,
  budgetMs: number | null,
  { measureStarts: measure, ...sources }: ProfileSurroundings,
): Promise<ReadonlyMap<string, MeasuredStart>> {
  if (measure === undefined || (budgetMs !== null && plan.device === "cpu")) return new Map();
  return measure(plan, sources);
}

/** Parses `--batches`. @returns ascending, each once. @throws RuntimeError */
export function parseBatches(text: string): number[] {
  const batches = text
    .split(",")
    .map((size) => (/^\s*[1-9]\d{0,4}\s*$/.test(size) ? Number(size) : 0));
  if (!batches.includes(0)) return [...new Set(batches)].sort((a, b) => a - b);
  throw new RuntimeError("RUNTIME_USAGE", `expected --batches such as 1,2,4,8, got "${text}"`);
}

/** Parses `--cores`, keeping the order. @throws RuntimeError */
export function parseCores(text: string): number[] {
  const cores = text
    .split(",")
    .map((count) => (/^\s*[1-9]\d{0,3}\s*$/.test(count) ? Number(count) : 0));
  const expected = `expected --cores such as 1,2,4, each at least 1 and named once, got "${text}"`;
  if (!cores.includes(0) && new Set(cores).size === cores.length) return cores;
  throw new RuntimeError("RUNTIME_USAGE", expected);
}

/** Returns the threads of a model for profile rows without cores. @throws RuntimeError */
export function threadsOf(cores: readonly number[] | null, isInLayers: boolean): number {
  const [first = 1, ...others] = cores ?? [];
  if (!isInLayers || others.length === 0) return first;
  throw new RuntimeError("RUNTIME_USAGE", "expected one number of --cores with --layers");
}

/** Returns the output file; may be missing with `--dry-run`. @throws RuntimeError */
export function expectOut({ out, dryRun }: Pick<ProfileCommand, "out" | "dryRun">): string {
  if (out !== null || dryRun) return out ?? "";
  throw new RuntimeError(
    "RUNTIME_USAGE",
    "expected -o FILE for the profile, or --dry-run, got neither",
  );
}

export function pathsOf(out: string): ProfilePaths {
  return { profile: out, measurement: `${out}.measurement.json` };
}

/**
 * Returns the result of `run`.
 * @param files that keep the measurements, if they exist.
 * @throws InterruptedError naming them; other errors of `run`.
 */
export async function orNameKept<T>(files: readonly string[], run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const kept = files.filter((path) => existsSync(path));
    if (!(error instanceof InterruptedError) || kept.length === 0) throw error;
    throw new InterruptedError(
      "interrupted; no profile was written. The measurements are kept in " +
        `${kept.join(" and ")}; run the same command to continue`,
    );
  }
}

/** Finds variants whose outputs are not finite, and checks labels before all is measured. */
class OutputWatch {
  readonly #plan: ProfilePlan;
  readonly #labelled: LabelledRows | null;
  readonly #notFinite = new Set<string>();

  constructor(plan: ProfilePlan, labelled: LabelledRows | null) {
    this.#plan = plan;
    this.#labelled = labelled;
  }

  readonly look: NonNullable<RoundOptions["onOutputs"]> = (index, outputs) => {
    this.#labelled?.check(index, outputs);
    const variant = this.#plan.variants[index];
    const infos = variant?.model.outputs ?? [];
    const isSound = outputs.every(({ bytes }, output) => {
      const info = infos[output];
      return info === undefined || hasFiniteNumbers(info, bytes);
    });
    if (variant !== undefined && !isSound) this.#notFinite.add(variant.name);
  };

  notFinite(): string[] {
    return [...this.#notFinite];
  }
}

/** Warns about a device that no pool can use before it is measured. */
function noteOtherDevice(
  { device, poolProviders }: ProfilePlan,
  onNote: (line: string) => void,
): void {
  if (poolProviders.length === 0 || poolProviders.includes(device)) return;
  const on = poolProviders.join(" and ");
  const flags = poolProviders.map((provider) => `--device ${provider}`).join(" or ");
  onNote(`the pools of the spec use ${on}, but this measures ${device}; expected ${flags}`);
}

function announce(ms: number, onNote: (line: string) => void): void {
  if (ms < LONG_MS) return;
  const minutes = ms / 60_000;
  const duration = minutes < 90 ? `${Math.round(minutes)} min` : `${(minutes / 60).toFixed(1)} h`;
  onNote(`measuring takes about ${duration}; use --budget 60s to measure less`);
}

/** @throws InputError if a variant has no run within the budget. */
function expectEveryVariant(cells: readonly Cell[], out: string, budgetMs: number | null): void {
  const without = firstCells(cells).flatMap((index) => {
    const cell = cells[index];
    return cell === undefined || cell.wallMs.length > 0 ? [] : [cell.variant];
  });
  if (without.length === 0) return;
  throw new InputError(
    "INPUT_CONFLICT",
    `--budget ${(budgetMs ?? 0) / 1000}s: expected time for a run of every variant, ` +
      `got none for ${without.join(", ")}. The measurements are kept in ${partialPath(out)}; ` +
      "run the same command with a larger budget to continue",
  );
}

export function jsonBytes(value: object): Uint8Array {
  return Buffer.from(`${JSON.stringify(value, null, 2)}\n`);
}

/** Returns whether all elements of an output are finite; integer outputs always are. */
function hasFiniteNumbers({ dtype }: Pick<TensorInfo, "dtype">, bytes: Uint8Array): boolean {
  const copy = bytes.slice().buffer;
  if (dtype === "float32") return new Float32Array(copy).every(Number.isFinite);
  if (dtype === "float64") return new Float64Array(copy).every(Number.isFinite);
  if (dtype !== "float16") return true;
  return new Uint16Array(copy).every((half) => Number.isFinite(halfToNumber(half)));
}
