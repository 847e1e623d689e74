/**
 * Solves the share of one shard: its levels, with each margin that it needs.
 * The merge does everything that depends on neighbours, and chooses the margin: a shard continues
 * with the next margin while its own levels break the ceiling, as a compile does with all levels.
 */
import { type Provenance, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { CompileOptions, LevelSolver, OnSolved } from "../levels/compile.ts";
import { plannedApplications, refuseUnfit, withSolver } from "../levels/compile.ts";
import { type KeptLevels, keepsMore, keptLevels } from "../levels/kept-levels.ts";
import type { BundleFile, CompilerMethod, OpenedModels, SolvedLevel } from "../methods/method.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { FoundBranch } from "../model/root-branches.ts";
import type { Loads } from "../spec/application.ts";
import type { Mistake } from "../spec/document/mistakes.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import { type KnownLevels, knownFirst } from "./known-levels.ts";
import { digestOf, type PartBranch, type PartLevel, type PartStages } from "./part.ts";
import { type Shard, shareOfList } from "./shard.ts";
import { type ShardWork, workOf } from "./shard-work.ts";
import { solveShareOfRange } from "./share-of-range.ts";

interface ShareOptions extends CompileOptions {
  readonly shard: Shard;
  /** Levels of an earlier attempt, which are not solved again. */
  readonly known: KnownLevels;
  /** Called with each newly solved level. */
  readonly onLevel: (level: PartLevel) => void;
  /** Called with each newly searched branch of a shared level. */
  readonly onBranch: (branch: PartBranch) => void;
}

export interface Share {
  readonly levels: readonly PartLevel[];
  readonly branches: readonly PartBranch[];
  readonly stages: readonly PartStages[];
  /** Stage files that this shard writes. */
  readonly files: readonly BundleFile[];
}

/** @throws InputError as a compile, for mistakes that its share reveals. */
export async function solveShare(
  loaded: LoadedApplication,
  options: ShareOptions,
  method: CompilerMethod,
): Promise<Share> {
  refuseUnfit(loaded, options, method);
  const { models, opened, compiler, shard } = options;
  const ceiling = violationCeiling(loaded.application.slo);
  const provenance = { compiler, inputs: loaded.inputs };
  const levels: PartLevel[] = [];
  const branches: PartBranch[] = [];
  const cuts: CutFrame[] = [];
  let best: KeptLevels | null = null;
  let isEnough = false;
  for (const planned of plannedApplications(loaded, method)) {
    const frame = method.frame(planned, models);
    const digest = digestOf(frame);
    // Each file lies beside one part, so all parts list the stages of all margins.
    if (opened !== null) cuts.push(cutOf(frame, digest, { opened, method, provenance }));
    if (isEnough) continue;
    const solved = await solvedShare(
      frame,
      digest,
      { loaded, loads: planned.loads, options },
      method,
    );
    levels.push(...solved.levels.map((one) => ({ ...one, frame: digest })));
    branches.push(...solved.branches);
    const own = solved.seen.map(({ level }) => level);
    const kept = keptLevels(own, ceiling, method.worstViolationRate);
    isEnough = kept.kept === kept.carried || (best !== null && keepsMore(best, kept));
    if (isEnough && opened === null) break;
    if (best === null || keepsMore(kept, best)) best = kept;
  }
  return { levels, branches, ...ownStages(cuts, shard) };
}

interface Asked {
  readonly loaded: LoadedApplication;
  readonly loads: Loads;
  readonly options: ShareOptions;
}

interface SolvedShare {
  readonly levels: readonly SolvedLevel[];
  readonly branches: readonly PartBranch[];
  /** Levels as this shard knows them: of a shared level, only its own branches. */
  readonly seen: readonly SolvedLevel[];
}

async function solvedShare(
  frame: BundleFrame,
  digest: string,
  { loaded, loads, options }: Asked,
  method: CompilerMethod,
): Promise<SolvedShare> {
  const { known, shard, openLevelSolver } = options;
  const work = workOf(loads, shard, method.dividesSearch(frame));
  const share = work.kind === "branches" ? work.share : null;
  const branches: PartBranch[] = [];
  const onBranch = (loadQps: number, branch: FoundBranch) => {
    const found = { frame: digest, loadQps, branch };
    branches.push(found);
    options.onBranch(found);
  };
  const onSolved: OnSolved = (solved) => {
    if (solved.isPart !== true) options.onLevel({ ...solved, frame: digest });
  };
  const open = () => openLevelSolver(frame, method);
  const solver = knownFirst({ frame: digest, known, open, onSolved, share, onBranch });
  const seen = await withSolver(solver, () => solvedWork(work, { loads, shard, method }, solver));
  if ("code" in seen) return loaded.fail(seen);
  const levels = seen.filter(({ isPart }) => isPart !== true);
  if (work.kind !== "branches") return { levels, branches, seen };
  const kept = known.branchesOf(digest, work.loadQps).map((branch) => {
    return { frame: digest, loadQps: work.loadQps, branch };
  });
  return { levels, branches: [...kept, ...branches], seen };
}

interface Around {
  readonly loads: Loads;
  readonly shard: Shard;
  readonly method: CompilerMethod;
}

async function solvedWork(
  work: ShardWork,
  { loads, shard, method }: Around,
  solver: LevelSolver,
): Promise<readonly SolvedLevel[] | Mistake> {
  if (work.kind === "levels") return solver.solve(work.loadsQps);
  if (work.kind === "branches") return solver.solve([work.loadQps]);
  if (loads.kind !== "adaptive") throw new TypeError("expected adaptive loads for a range");
  const step = { maxAccuracyStep: loads.maxAccuracyStep, gapOf: method.gapOf };
  return solveShareOfRange(loads, step, shard, (qps, round) => solver.solve(qps, round));
}

interface CutFrame {
  readonly stages: Omit<PartStages, "own">;
  readonly files: readonly BundleFile[];
}

interface CutOptions {
  readonly opened: OpenedModels;
  readonly method: CompilerMethod;
  readonly provenance: Provenance;
}

/** Stages depend on the frame alone. */
function cutOf(
  frame: BundleFrame,
  digest: string,
  { opened, method, provenance }: CutOptions,
): CutFrame {
  const { bundle, files } = opened.cut(method.bundle(frame, [], provenance));
  const names = files.map(({ file, sha256 }) => ({ file, sha256 }));
  return { stages: { frame: digest, tasks: bundle.tasks, files: names }, files };
}

/** Each file is written once, by one shard. */
function ownStages(cuts: readonly CutFrame[], shard: Shard): Pick<Share, "stages" | "files"> {
  const files = new Map<string, BundleFile>();
  const stages = cuts.map((cut) => {
    const share = shareOfList(cut.files, shard);
    for (const one of share) files.set(one.file, one);
    return { ...cut.stages, own: share.map(({ file }) => file) };
  });
  return { stages, files: [...files.values()] };
}
