/**
 * What one shard of a compile solves: its share of the levels, with each margin that it takes.
 *
 * What depends on neighbours is left to whoever merges. So is the choice of the margin: a shard
 * goes on to the next one while levels of its own break the ceiling, as a compile does with all.
 */
import { type Provenance, violationCeiling } from "stratagem-runtime/internal/bundle/schema";
import type { CompileOptions, LevelSolver, OnSolved } from "../levels/compile.ts";
import { gapOfMethod, plannedApplications, refuseUnfit, withSolver } from "../levels/compile.ts";
import { type KeptLevels, keepsMore, keptLevels } from "../levels/kept-levels.ts";
import type { BundleFile, CompilerMethod, OpenedModels, SolvedLevel } from "../methods/method.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { Loads } from "../spec/application.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import { type KnownLevels, knownFirst } from "./known-levels.ts";
import { digestOf, type PartLevel, type PartStages } from "./part.ts";
import { type Shard, shareOfList } from "./shard.ts";
import { solveShareOfRange } from "./share-of-range.ts";

export interface ShareOptions extends CompileOptions {
  readonly shard: Shard;
  /** Levels of an earlier try, which are not solved again. */
  readonly known: KnownLevels;
  /** Told of each level that is solved now. */
  readonly onLevel: (level: PartLevel) => void;
}

export interface Share {
  readonly levels: readonly PartLevel[];
  readonly stages: readonly PartStages[];
  /** Those of the stages that this shard writes. */
  readonly files: readonly BundleFile[];
}

/** @throws InputError as a compile does, as far as its share shows it. */
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
  const cuts: CutFrame[] = [];
  let best: KeptLevels | null = null;
  let isEnough = false;
  for (const planned of plannedApplications(loaded, method)) {
    const frame = method.frame(planned, models);
    const digest = digestOf(frame);
    // Each file is beside one part, so all parts have those of all margins.
    if (opened !== null) cuts.push(cutOf(frame, digest, { opened, method, provenance }));
    if (isEnough) continue;
    const solved = await solvedShare(
      frame,
      digest,
      { loaded, loads: planned.loads, options },
      method,
    );
    levels.push(...solved.map((one) => ({ ...one, frame: digest })));
    const own = solved.map(({ level }) => level);
    const kept = keptLevels(own, ceiling, method.worstViolationRate);
    isEnough = kept.kept === kept.carried || (best !== null && keepsMore(best, kept));
    if (isEnough && opened === null) break;
    if (best === null || keepsMore(kept, best)) best = kept;
  }
  return { levels, ...ownStages(cuts, shard) };
}

interface Asked {
  readonly loaded: LoadedApplication;
  readonly loads: Loads;
  readonly options: ShareOptions;
}

async function solvedShare(
  frame: BundleFrame,
  digest: string,
  { loaded, loads, options }: Asked,
  method: CompilerMethod,
): Promise<readonly SolvedLevel[]> {
  const { known, shard, onLevel, openLevelSolver } = options;
  const onSolved: OnSolved = (solved) => onLevel({ ...solved, frame: digest });
  const open = () => openLevelSolver(frame, method);
  const found = await withSolver(
    knownFirst({ frame: digest, known, open, onSolved }),
    async (solver: LevelSolver) => {
      if (loads.kind === "list") return solver.solve(shareOfList(loads.qps, shard));
      const step = { maxAccuracyStep: loads.maxAccuracyStep, gapOf: gapOfMethod(method) };
      return solveShareOfRange(loads, step, shard, (qps, round) => solver.solve(qps, round));
    },
  );
  return "code" in found ? loaded.fail(found) : found;
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

/** Each file is written by one shard, and once. */
function ownStages(cuts: readonly CutFrame[], shard: Shard): Pick<Share, "stages" | "files"> {
  const files = new Map<string, BundleFile>();
  const stages = cuts.map((cut) => {
    const share = shareOfList(cut.files, shard);
    for (const one of share) files.set(one.file, one);
    return { ...cut.stages, own: share.map(({ file }) => file) };
  });
  return { stages, files: [...files.values()] };
}
