/** `stratagem compile APP -o OUT`: application spec and profiles → bundle. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { encodeBundle } from "../../runtime/bundle/codec.ts";
import {
  type Bundle,
  FORMAT_VERSION,
  type InferlineBundle,
  type LokiLevel,
  type ModelFile,
  type RamsisBundle,
  type RamsisLevel,
  type ThemisBundle,
  violationCeiling,
} from "../../runtime/bundle/schema.ts";
import type { CommandResult } from "../../runtime/commands/command-result.ts";
import { levelTable } from "../../runtime/commands/inspect.ts";
import { percent } from "../../runtime/commands/text.ts";
import { RuntimeError } from "../../runtime/errors.ts";
import { levelReports } from "../../runtime/inspect.ts";
import type { Placement } from "../adaptive-levels.ts";
import { writeAtomically } from "../atomic-write.ts";
import { type Compiled, type CompileOptions, compile, type LevelSolver } from "../compile.ts";
import { type LevelPoolOptions, LevelWorkers } from "../level-pool.ts";
import { withObservedFanouts } from "../observed-fanouts.ts";
import type { SolverName } from "../solver-names.ts";
import type { BundleFrame } from "../solvers/solver.ts";
import { InputError } from "../spec/input-error.ts";
import { type LoadedApplication, loadApplication } from "../spec/load-application.ts";

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
  const compiled = await compile(loaded, {
    compiler: command.compiler,
    models,
    openLevelSolver: inThreads(command.pool),
    solveInTurn: inTurn(command),
  });
  const bytes = encodeBundle(compiled.bundle);
  if (command.check) return compareWith(command.out, bytes);
  command.pool.signal.throwIfAborted();
  await writeAtomically(command.out, bytes);
  return report(command.out, bytes, compiled, command.nowMs() - startMs);
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

async function compareWith(path: string, bytes: Uint8Array): Promise<CommandResult> {
  const existing = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new InputError("INPUT_UNREADABLE", `${path}: cannot be read (${error.code})`);
  });
  const same = existing !== null && Buffer.compare(existing, bytes) === 0;
  const state = existing === null ? "does not exist" : same ? "is up to date" : "differs";
  return {
    exitCode: same ? 0 : 2,
    text: `${path} ${state}${same ? "" : "; compile it again to update it"}`,
    json: { path, same, exists: existing !== null, sha256: sha256(bytes) },
  };
}

function report(
  path: string,
  bytes: Uint8Array,
  { bundle, solveMs, placement }: Compiled,
  compileMs: number,
): CommandResult {
  const digest = sha256(bytes);
  const { application, method } = bundle;
  return {
    exitCode: 0,
    text: [
      `${path}: ${bytes.length} bytes, sha256 ${digest.slice(0, 12)}…, compiled in ${Math.round(compileMs)} ms`,
      "",
      levelTable(bundle),
      ...(placement === null ? [] : placementText(placement, bundle)),
      ...warnings(bundle),
    ].join("\n"),
    json: {
      bundle: { path, bytes: bytes.length, sha256: digest, formatVersion: FORMAT_VERSION },
      application,
      method,
      compileMs,
      ...(placement === null ? {} : { placement }),
      levels: levelReports(bundle, solveMs),
    },
  };
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

/** Levels that the cluster cannot carry, or not in time. */
function warnings(bundle: Bundle): string[] {
  const ceiling = violationCeiling(bundle.slo);
  if (bundle.method === "ramsis") return tableWarnings(bundle);
  if (bundle.method === "inferline") return provisioningWarnings(bundle);
  if (bundle.method === "themis") return scalingWarnings(bundle);
  return bundle.levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (!feasible) {
      return `level ${loadQps} qps is not feasible: above the capacity of ${Math.floor(capacityQps)} qps, whose plan it has; the excess is shed`;
    }
    if (expected.violationRate <= ceiling) return [];
    return `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the SLO when it is simulated, allowed ${percent(ceiling)}; the plan has no room for queues`;
  });
}

/** Of held-out traces, for which a margin is worth a thought. */
const FEW_MET = 0.95;

function provisioningWarnings({ levels, slo, policy }: InferlineBundle): string[] {
  const ceiling = violationCeiling(slo);
  const advice = policy.margin === "auto" ? "" : "; policy.margin: auto leaves room for them";
  return levels.flatMap(({ loadQps, feasible, capacityQps, expected }) => {
    if (!feasible) {
      return `level ${loadQps} qps is not feasible: the pools have a plan up to about ${Math.floor(capacityQps)} qps, and it has that one`;
    }
    const { traces, met } = expected.heldOut;
    if (met < FEW_MET * traces) {
      return `level ${loadQps} qps: ${met} of ${traces} traces that were not planned with meet the SLO${advice}`;
    }
    if (expected.violationRate <= ceiling) return [];
    return `level ${loadQps} qps: ${percent(expected.violationRate)} of the requests miss the SLO when it is simulated, allowed ${percent(ceiling)}`;
  });
}

function scalingWarnings({ levels, slo, policy }: ThemisBundle): string[] {
  const ceiling = violationCeiling(slo);
  const advice =
    policy.queueing === "paper" ? "; policy.queueing: stochastic counts with them" : "";
  return levels.flatMap(({ loadQps, feasible, capacityQps, steady }) => {
    if (!feasible) {
      return `level ${loadQps} qps is not feasible: the pool has a plan up to about ${Number(capacityQps.toPrecision(3))} qps, and it has that one`;
    }
    const { violationRate } = steady.expected;
    if (violationRate <= ceiling) return [];
    return `level ${loadQps} qps: ${percent(violationRate)} of random requests miss the SLO, allowed ${percent(ceiling)}${advice}`;
  });
}

/** One line for each run of neighbours that are not feasible. */
function tableWarnings({ levels, slo }: RamsisBundle): string[] {
  const allowed = `allowed ${percent(violationCeiling(slo))}`;
  return infeasibleRuns(levels).map((run) => {
    const [{ loadQps: first }, last] = [run[0], run[run.length - 1] ?? run[0]];
    const { loadQps, capacityQps } = last;
    const which =
      run.length === 1
        ? `level ${first} qps is`
        : `${run.length} levels, ${first} to ${loadQps} qps, are`;
    const highest = Math.max(...run.map(({ expected }) => expected.violationRate));
    const violations = `expected violations ${run.length === 1 ? "" : "up to "}${percent(highest)}`;
    return loadQps > capacityQps
      ? `${which} not feasible: above the capacity of ${Math.floor(capacityQps)} qps, ${violations}`
      : `${which} not feasible: ${violations}, ${allowed}`;
  });
}

type Run = [RamsisLevel, ...RamsisLevel[]];

/** Levels that are not feasible and follow each other; those above the capacity are a run of their own. */
function infeasibleRuns(levels: readonly RamsisLevel[]): Run[] {
  const runs: Run[] = [];
  for (const [index, level] of levels.entries()) {
    const previous = levels[index - 1];
    const run = runs[runs.length - 1];
    if (level.feasible) continue;
    const isSameKind =
      previous !== undefined &&
      !previous.feasible &&
      previous.loadQps > previous.capacityQps === level.loadQps > level.capacityQps;
    if (isSameKind && run !== undefined) run.push(level);
    else runs.push([level]);
  }
  return runs;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
