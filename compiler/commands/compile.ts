/** `stratagem compile APP -o OUT`: application spec and profiles → bundle. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import {
  type Bundle,
  FORMAT_VERSION,
  type LokiLevel,
  type ModelFile,
} from "../../runtime/bundle/schema.ts";
import { encodeBundle } from "../../runtime/checked-bundle.ts";
import type { CommandResult } from "../../runtime/commands/command-result.ts";
import { levelTable } from "../../runtime/commands/inspect.ts";
import { RuntimeError } from "../../runtime/errors.ts";
import { levelReports } from "../../runtime/inspect.ts";
import { classTable } from "../../runtime/methods/ramsis/tell/inspect-summary.ts";
import { percent } from "../../runtime/tell/text.ts";
import { writeAllAtomically } from "../atomic-write.ts";
import type { Placement } from "../levels/adaptive-levels.ts";
import {
  type Compiled,
  type CompileOptions,
  compile,
  type LevelSolver,
} from "../levels/compile.ts";
import { type LevelPoolOptions, LevelWorkers } from "../levels/level-pool.ts";
import {
  cutStages,
  openLayers,
  stagePaths,
  stagesThatDiffer,
} from "../methods/accordion/compile-stages.ts";
import { pipelineTable } from "../methods/accordion/place-report.ts";
import { isCut, type StageFile } from "../methods/accordion/stage-models.ts";
import { withObservedFanouts } from "../methods/loki/observed-fanouts.ts";
import type { BundleFrame } from "../methods/solver.ts";
import { InputError } from "../spec/input-error.ts";
import { type LoadedApplication, loadApplication } from "../spec/load-application.ts";
import { warnings } from "./compile-warnings.ts";
import type { SolverName } from "./solver-names.ts";

export interface CompileCommand {
  readonly app: string;
  readonly out: string;
  /** How to solve; null for what the policy says. */
  readonly solver: SolverName | null;
  /** Saved metrics of a server, whose fan-outs replace those of the spec; null for none. */
  readonly fanouts: string | null;
  /** Compare with `out` instead of writing it. */
  readonly check: boolean;
  readonly compiler: string;
  readonly pool: LevelPoolOptions;
  /** A monotonic clock, ms. */
  readonly nowMs: () => number;
}

export async function compileCommand(command: CompileCommand): Promise<CommandResult> {
  const startMs = command.nowMs();
  const { app, fanouts } = command;
  const specified = withSolver(loadApplication(app), command.solver);
  const loaded = fanouts === null ? specified : withObservedFanouts(specified, fanouts, app);
  const models = await readModels(loaded);
  const layered = await openLayers(loaded);
  const compiled = await compile(loaded, {
    compiler: command.compiler,
    models,
    layerCounts: new Map([...layered].map(([path, { layerCount }]) => [path, layerCount])),
    openLevelSolver: inThreads(command.pool),
    solveInTurn: inTurn(command),
  });
  const { bundle, files } = cutStages(loaded, compiled.bundle, layered);
  const bytes = encodeBundle(bundle);
  const { out } = command;
  const stages = stagePaths(out, files);
  if (command.check) return compareWith(out, bytes, files);
  command.pool.signal.throwIfAborted();
  await writeAllAtomically([...stages, { path: out, bytes }], command.pool.signal);
  const told = { ...compiled, bundle, uncut: uncutModels(loaded), files };
  return report(out, bytes, told, command.nowMs() - startMs);
}

/** Names of models that have a file and no layers. */
function uncutModels({ application }: LoadedApplication): string[] {
  if (application.policy.method !== "accordion") return [];
  const variants = application.tasks.flatMap((task) => task.variants);
  return variants
    .filter((variant) => variant.model !== null && !isCut(variant, application))
    .map(({ name }) => name);
}

/** @throws RuntimeError if the method of the application has no such solver. */
function withSolver(loaded: LoadedApplication, solver: SolverName | null): LoadedApplication {
  if (solver === null) return loaded;
  const { application } = loaded;
  const { policy } = application;
  if (policy.method === "loki" && solver !== "value-iteration") {
    return { ...loaded, application: { ...application, policy: { ...policy, solver } } };
  }
  if (policy.method === "ramsis" && solver === "value-iteration") return loaded;
  if (policy.method === "inferline") {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--solver: method inferline has one solver, got ${solver}; leave the option out, policy.refine says how far it goes`,
    );
  }
  if (policy.method === "themis") {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--solver: policy.solver says how method themis solves, exact or paper, got ${solver}; leave the option out`,
    );
  }
  if (policy.method === "accordion") {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--solver: method accordion has one solver, whose partitions are exact, got ${solver}; leave the option out`,
    );
  }
  const allowed = policy.method === "loki" ? "auto, glpk or highs" : "value-iteration";
  throw new RuntimeError(
    "RUNTIME_USAGE",
    `--solver: expected ${allowed} for method ${policy.method}, got ${solver}`,
  );
}

function inThreads(pool: LevelPoolOptions): (frame: BundleFrame) => LevelSolver {
  return (frame) => {
    const threads = new LevelWorkers(frame, pool);
    return {
      async solve(loadsQps, round) {
        const requests = loadsQps.map((loadQps) => ({ kind: "solve", loadQps }) as const);
        const stage = round === undefined ? undefined : `round ${round}`;
        const replies = await threads.run(requests, stage);
        return replies.filter((reply) => reply.kind === "solved");
      },
      async settle(level, neighbour) {
        const [reply] = await threads.run([{ kind: "settle", level, neighbour }], "neighbours");
        if (reply?.kind !== "solved") throw new TypeError("a level is answered by a level");
        return reply.level as LokiLevel;
      },
      close: () => threads.close(),
    };
  };
}

/** Lets signals and progress through between two levels. */
function inTurn({ pool, nowMs }: CompileCommand): CompileOptions["solveInTurn"] {
  return async (loadsQps, solve) => {
    const solved = [];
    for (const loadQps of loadsQps) {
      await new Promise((resolve) => setImmediate(resolve));
      pool.signal.throwIfAborted();
      const startMs = nowMs();
      solved.push({ level: solve(loadQps), ms: nowMs() - startMs });
      pool.onProgress(solved.length, loadsQps.length);
    }
    return solved;
  };
}

/** Digests and tensors of the models that variants name. onnxruntime is loaded only if there are any. */
async function readModels({ application }: LoadedApplication): Promise<Map<string, ModelFile>> {
  const models = new Map<string, ModelFile>();
  for (const task of application.tasks) {
    for (const { name, model } of task.variants) {
      if (model === null || models.has(model)) continue;
      const { readModelFile } = await import("../../runtime/exec/model-file.ts");
      try {
        models.set(model, await readModelFile(model));
      } catch (error) {
        const reason = error instanceof Error ? error.message.split("\n")[0] : String(error);
        throw new InputError(
          "INPUT_INVALID_VALUE",
          `${model}: expected an ONNX model for variant "${name}", onnxruntime says: ${reason}`,
        );
      }
    }
  }
  return models;
}

async function compareWith(
  path: string,
  bytes: Uint8Array,
  files: readonly StageFile[],
): Promise<CommandResult> {
  const existing = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new InputError("INPUT_UNREADABLE", `${path}: cannot be read (${error.code})`);
  });
  const isSame = existing !== null && Buffer.compare(existing, bytes) === 0;
  const differing = await stagesThatDiffer(path, files);
  const same = isSame && differing.length === 0;
  const state = existing === null ? "does not exist" : isSame ? "is up to date" : "differs";
  const stages =
    differing.length === 0
      ? ""
      : `, but these of its stages are missing or differ: ${differing.join(", ")}`;
  return {
    exitCode: same ? 0 : 2,
    text: `${path} ${state}${stages}${same ? "" : "; compile it again to update it"}`,
    json: {
      path,
      same,
      exists: existing !== null,
      sha256: sha256(bytes),
      ...(files.length === 0 ? {} : { differingStages: differing }),
    },
  };
}

interface Told extends Compiled {
  readonly uncut: readonly string[];
  readonly files: readonly StageFile[];
}

function report(path: string, bytes: Uint8Array, told: Told, compileMs: number): CommandResult {
  const { bundle, solveMs, placement, files } = told;
  const digest = sha256(bytes);
  const { application, method } = bundle;
  return {
    exitCode: 0,
    text: [
      `${path}: ${bytes.length} bytes, sha256 ${digest.slice(0, 12)}…, compiled in ${Math.round(compileMs)} ms`,
      ...(files.length === 0 ? [] : [`${files.length} stages of models beside it`]),
      "",
      ...(bundle.method === "accordion" ? [pipelineTable(bundle), ""] : []),
      levelTable(bundle),
      ...(bundle.method === "ramsis" && bundle.slo.classes ? ["", classTable(bundle)] : []),
      ...(placement === null ? [] : placementText(placement, bundle)),
      ...warnings(bundle, told.uncut),
    ].join("\n"),
    json: {
      bundle: { path, bytes: bytes.length, sha256: digest, formatVersion: FORMAT_VERSION },
      ...(files.length === 0 ? {} : { stages: files.map(stageReport) }),
      application,
      method,
      compileMs,
      ...(placement === null ? {} : { placement }),
      levels: levelReports(bundle, solveMs),
    },
  };
}

function stageReport({ file, sha256: digest }: StageFile): object {
  return { file, sha256: digest };
}

function placementText(
  { maxAccuracyStep, rounds, solved, jumps }: Placement,
  { levels }: Bundle,
): string[] {
  const step = percent(maxAccuracyStep);
  return [
    `${levels.length} levels placed, of ${solved} solved in ${rounds} rounds: neighbours differ by less than ${step} in expected accuracy`,
    ...jumps.map(
      ({ fromQps, toQps, accuracyStep }) =>
        `except that between ${fromQps} and ${toQps} qps it jumps by ${percent(accuracyStep)}; levels are not placed closer`,
    ),
  ];
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
