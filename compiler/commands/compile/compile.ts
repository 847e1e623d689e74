/** Implements `stratagem compile APP -o OUT`: application spec and profiles → bundle. */

import { createHash } from "node:crypto";
import {
  type Bundle,
  FORMAT_VERSION,
  type ModelFile,
  type Pool,
} from "stratagem-runtime/internal/bundle/schema";
import { levelReports } from "stratagem-runtime/internal/bundles/inspect";
import { writeBundle } from "stratagem-runtime/internal/bundles/read-bundle";
import type { CommandResult } from "stratagem-runtime/internal/commands/command-result";
import { levelTable } from "stratagem-runtime/internal/commands/inspect";
import { devicePools, onDevice } from "stratagem-runtime/internal/describe/pool-device";
import { servingPathText } from "stratagem-runtime/internal/describe/serving-path";
import { counted, percent } from "stratagem-runtime/internal/describe/text";
import type { ModelReader } from "stratagem-runtime/internal/exec/process/model-reader";
import { expectWritable, writeAllAtomically } from "../../base/atomic-write.ts";
import { InterruptedError } from "../../base/errors.ts";
import type { Bound } from "../../binding/bind-model.ts";
import { type RequiredOutcome, requiredOutcome } from "../../gate/required-outcome.ts";
import type { Placement } from "../../levels/adaptive-levels.ts";
import { type Compiled, type CompileOptions, compile } from "../../levels/compile.ts";
import type { BundleFile, CompilerMethod, DayReport } from "../../methods/method.ts";
import { methodOf } from "../../methods/registry.ts";
import type { SolverName } from "../../methods/solver-names.ts";
import { modelKey } from "../../model/model-files.ts";
import type { LevelPoolOptions } from "../../processes/level-pool.ts";
import type { Variant } from "../../spec/application.ts";
import type { KeyPath } from "../../spec/document/document.ts";
import { InputError } from "../../spec/document/input-error.ts";
import type { Mistake } from "../../spec/document/mistakes.ts";
import { type LoadedApplication, loadApplication } from "../../spec/load-application.ts";
import type { Requirement } from "../../spec/schema/requirement.ts";
import { pathsBeside } from "./bundle-files.ts";
import { openLevelSolver } from "./level-solvers.ts";
import { profiledModels } from "./profiled-models.ts";
import { specQuestions } from "./spec-questions.ts";

export interface CompileCommand {
  readonly app: string;
  readonly out: string;
  /** Solver; null for the one that the policy names. */
  readonly solver: SolverName | null;
  /** Profile that replaces those in the spec; null or left out to keep them. */
  readonly profile?: string | null;
  /** Saved metrics of a server, whose fan-outs replace those of the spec; null for none. */
  readonly fanouts: string | null;
  /** Compares with `out` instead of writing it. */
  readonly check: boolean;
  /** Requirements in addition to those of the spec; null to ignore all requirements. */
  readonly requirements?: readonly Requirement[] | null;
  readonly compiler: string;
  readonly pool: LevelPoolOptions;
  /** Reads and runs models, under limits. */
  readonly modelReader: Pick<ModelReader, "describe" | "readHost" | "probe" | "probeFile">;
  /** Monotonic clock, ms. */
  readonly nowMs: () => number;
}

export type CompileSources = Pick<CompileCommand, "compiler" | "modelReader" | "pool" | "nowMs">;

export async function compileCommand(command: CompileCommand): Promise<CommandResult> {
  const startMs = command.nowMs();
  const { loaded, method } = await loadAsked(command);
  if (!command.check) await expectWritable(command.out);
  const compiled = await compiledFiles(loaded, method, command);
  return finishCompile(compiled, { loaded, method, command, startMs });
}

type Asked = Pick<CompileCommand, "app" | "solver" | "profile" | "fanouts">;

interface LoadedWithMethod {
  readonly loaded: LoadedApplication;
  readonly method: CompilerMethod;
}

/** Loads the application of the spec, changed by the options. @throws InputError */
export async function loadAsked(command: Asked): Promise<LoadedWithMethod> {
  const { app, solver, fanouts, profile = null } = command;
  const asked = loadApplication(app, { profile });
  const method = await methodOf(asked.application.policy);
  const specified = withSolver(asked, method, solver);
  if (fanouts === null) return { loaded: specified, method };
  const { withObservedFanouts } = await import("../../graph/observed-fanouts.ts");
  return { loaded: withObservedFanouts(specified, fanouts, app), method };
}

type FinishCommand = Pick<
  CompileCommand,
  "out" | "check" | "requirements" | "pool" | "nowMs" | "compiler"
>;

interface Finish extends LoadedWithMethod {
  readonly command: FinishCommand;
  readonly startMs: number;
}

/** Checks the requirements of a compiled bundle, then writes it or compares it. */
export async function finishCompile(
  { bundle, files, models, ...compiled }: CompiledFiles,
  { loaded, method, command, startMs }: Finish,
): Promise<CommandResult> {
  const { out, nowMs, pool } = command;
  const bytes = await writeBundle(bundle);
  const requirements = requirementsOf(loaded, command);
  const required = await requiredOutcome(requirements, bundle, bytes.length, { nowMs, ...pool });
  if (command.check) {
    const { compareWith } = await import("./check.ts");
    return withRequired(await compareWith(out, bytes, files), required);
  }
  pool.signal.throwIfAborted();
  const written = [...pathsBeside(out, files), { path: out, bytes }];
  if (required.holds) await writeAllAtomically(written, pool.signal);
  const reported = {
    ...compiled,
    method,
    bundle,
    files,
    required,
    warnings: [
      ...profiledModels(loaded, models).warnings,
      ...specQuestions(loaded.application),
      ...method.warnings(bundle, loaded.application),
      ...required.warnings,
    ],
    day: method.overDay(bundle, loaded.application),
  };
  return report(out, bytes, reported, nowMs() - startMs);
}

/** Returns the requirements of the spec followed by those of the command line; empty for `none`. */
function requirementsOf(
  { application }: LoadedApplication,
  { requirements = [] }: FinishCommand,
): readonly Requirement[] {
  return requirements === null ? [] : [...(application.requirements ?? []), ...requirements];
}

/** A broken promise takes precedence over an outdated bundle. */
function withRequired(checked: CommandResult, required: RequiredOutcome): CommandResult {
  return {
    exitCode: required.holds ? checked.exitCode : required.exitCode,
    text: [checked.text, ...required.warnings, ...required.lines].join("\n"),
    json: { ...checked.json, warnings: required.warnings, requirements: required.judged },
  };
}

/** Result of compiling before anything is written: the bundle, and files beside it. */
interface CompiledFiles extends Compiled {
  /** Models as variants use them, by `modelKey`. */
  readonly models: ReadonlyMap<string, ModelFile>;
  readonly files: readonly BundleFile[];
}

/** @throws InputError as `compile`, and for models that cannot be read. */
export async function compiledFiles(
  loaded: LoadedApplication,
  method: CompilerMethod,
  sources: CompileSources,
): Promise<CompiledFiles> {
  const options = await openApplication(loaded, method, sources);
  const compiled = await compile(loaded, options);
  const { bundle } = compiled;
  const { models } = options;
  return { ...compiled, models, ...(options.opened?.cut(bundle) ?? { bundle, files: [] }) };
}

/** Input of solving in addition to the application. */
export interface OpenedApplication extends CompileOptions {
  readonly models: ReadonlyMap<string, ModelFile>;
}

/** @throws InputError for models that cannot be read. */
export async function openApplication(
  loaded: LoadedApplication,
  method: CompilerMethod,
  { compiler, modelReader, pool, nowMs }: CompileSources,
): Promise<OpenedApplication> {
  const models = await readModels(loaded, modelReader);
  loaded.refuse(profiledModels(loaded, models).mistakes);
  const opened = await method.openModels(loaded, modelReader);
  return {
    compiler,
    models,
    opened,
    openLevelSolver: (frame) => openLevelSolver(frame, method, pool, nowMs),
  };
}

/** @throws RuntimeError if the method of the application has no such solver. */
function withSolver(
  loaded: LoadedApplication,
  method: CompilerMethod,
  solver: SolverName | null,
): LoadedApplication {
  if (solver === null) return loaded;
  const { application } = loaded;
  const policy = method.withSolver(application.policy, solver);
  return { ...loaded, application: { ...application, policy } };
}

const EXPECTED_BY_KIND = {
  module: "an ES module that loads",
  remote: "a model on a server",
} as const;

type Reader = Pick<ModelReader, "describe" | "readHost" | "probeFile">;

/**
 * Reads digests and tensors of the models as variants use them.
 * @throws InputError for the first invalid use, or the first file that is not a model.
 */
async function readModels(
  { application, refuse }: LoadedApplication,
  reader: Reader,
): Promise<Map<string, ModelFile>> {
  const models = new Map<string, ModelFile>();
  const mistakes: Mistake[] = [];
  for (const [taskIndex, task] of application.tasks.entries()) {
    for (const [index, variant] of task.variants.entries()) {
      if (variant.model === null) continue;
      const key = modelKey(variant.model, variant);
      if (models.has(key)) continue;
      const at = ["tasks", taskIndex, "variants", index];
      const bound = await boundModel(variant.model, variant, at, reader);
      if (bound.mistakes === undefined) models.set(key, bound.model);
      else mistakes.push(...bound.mistakes);
    }
  }
  refuse(mistakes);
  return models;
}

async function boundModel(
  path: string,
  { name, binding, host, chain }: Pick<Variant, "name" | "binding" | "host" | "chain">,
  at: KeyPath,
  reader: Reader,
): Promise<Bound> {
  try {
    if (host !== undefined) return { model: await reader.readHost(host) };
    // Modules that import onnxruntime load only if the spec names a model.
    if (chain !== undefined) {
      const { bindChain } = await import("../../binding/bind-chain.ts");
      return await bindChain(chain, binding, at, reader);
    }
    const { bindModel } = await import("../../binding/bind-model.ts");
    return await bindModel(path, await reader.describe(path), binding, at, reader);
  } catch (error) {
    if (error instanceof InterruptedError) throw error;
    const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
    const expected =
      host === undefined
        ? `expected an ONNX model for variant "${name}", onnxruntime says`
        : `expected ${EXPECTED_BY_KIND[host.kind]} for variant "${name}", got`;
    throw new InputError("INPUT_INVALID_VALUE", `${path}: ${expected}: ${reason}`);
  }
}

interface Reported extends Compiled {
  readonly method: CompilerMethod;
  readonly required: RequiredOutcome;
  readonly warnings: readonly string[];
  readonly files: readonly BundleFile[];
  readonly day: DayReport | null;
}

function report(
  path: string,
  bytes: Uint8Array,
  reported: Reported,
  compileMs: number,
): CommandResult {
  const { bundle, solveMs, placement, files, required, warnings, day } = reported;
  const { holds } = required;
  const digest = sha256(bytes);
  const { application, method } = bundle;
  const pools = devicePools(bundle.cluster);
  const around = reported.method.tablesAround(bundle);
  const state = holds ? "" : "not written because a promise is broken; ";
  return {
    exitCode: required.exitCode,
    text: [
      `${path}: ${state}${bytes.length} bytes, sha256 ${digest.slice(0, 12)}…, compiled in ` +
        `${Math.round(compileMs)} ms`,
      ...(files.length === 0 ? [] : [`${files.length} stage files beside it`]),
      ...pools.map(
        (pool) => `pool ${pool.name}: ${counted(pool.workers, "worker")}${onDevice(pool)}`,
      ),
      servingPathText(bundle.cluster),
      "",
      ...around.before.flatMap((table) => [table, ""]),
      levelTable(bundle),
      ...around.after.flatMap((table) => ["", table]),
      ...(placement === null ? [] : placementText(placement, bundle)),
      ...(day === null ? [] : ["", day.text]),
      ...warnings,
      ...required.lines,
    ].join("\n"),
    json: {
      bundle: { path, bytes: bytes.length, sha256: digest, formatVersion: FORMAT_VERSION },
      ...(files.length === 0 ? {} : { stages: files.map(stageReport) }),
      application,
      method,
      compileMs,
      ...(pools.length === 0 ? {} : { pools: pools.map(poolReport) }),
      ...(placement === null ? {} : { placement }),
      serving: bundle.cluster.serving ?? null,
      levels: levelReports(bundle, solveMs),
      ...(day === null ? {} : { day: day.json }),
      warnings,
      written: holds,
      requirements: required.judged,
    },
  };
}

function poolReport({ name, workers, device, measuredOn }: Pool): object {
  return { name, workers, device: device ?? null, measuredOn: measuredOn ?? null };
}

function stageReport({ file, sha256: digest }: BundleFile): object {
  return { file, sha256: digest };
}

function placementText(
  { maxAccuracyStep, rounds, solved, jumps }: Placement,
  { levels }: Bundle,
): string[] {
  const step = percent(maxAccuracyStep);
  return [
    `${levels.length} levels placed, of ${solved} solved in ${rounds} rounds: neighbours ` +
      `differ by less than ${step} in expected accuracy`,
    ...jumps.map(
      ({ fromQps, toQps, accuracyStep }) =>
        `except that between ${fromQps} and ${toQps} qps it jumps by ` +
        `${percent(accuracyStep)}; levels are not placed closer`,
    ),
  ];
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
