/**
 * Combines parts to the result of a single compile.
 * Runs that compile with the application in the parts and a solver that has their levels, so
 * everything that depends on neighbours is the same. A level that several shards have searched is
 * searched again with their branches. Missing levels are solved here: they occur if a level of one
 * shard requires a larger margin than another shard needed, and if time limits end a search.
 */
import {
  type Compiled,
  type CompileOptions,
  compile,
  plannedApplications,
} from "../levels/compile.ts";
import type { BundleFile, CompilerMethod, SolvedLevel } from "../methods/method.ts";
import { ALL_BRANCHES } from "../model/root-branches.ts";
import { InputError } from "../spec/document/input-error.ts";
import type { Mistake } from "../spec/document/mistakes.ts";
import type { LoadedApplication } from "../spec/load-application.ts";
import type { PresentPart } from "./fleet.ts";
import { KnownLevels, knownFirst } from "./known-levels.ts";
import { digestOf, fleetOf, type PartHeader } from "./part.ts";
import { stagesOfParts } from "./part-stages.ts";

type MergeOptions = Pick<CompileOptions, "compiler" | "openLevelSolver">;

export interface Merged extends Compiled {
  /** Models as variants use them, by `modelKey`. */
  readonly models: PartHeader["source"]["models"];
  readonly files: readonly BundleFile[];
  /** Levels that no part had. */
  readonly solvedHere: number;
  /** Branches of shared levels that no part had. */
  readonly searchedHere: number;
  /** Levels with different results in two parts. */
  readonly differing: number;
}

/** Returns the application of a part, as in the spec. */
export function loadedOf({ app, source }: PartHeader): LoadedApplication {
  const { application, inputs } = source;
  const fail = ({ code, message }: Mistake): never => {
    throw new InputError(code, `${app}: ${message}`);
  };
  return {
    application,
    path: app,
    inputs,
    fail,
    refuse(mistakes) {
      for (const mistake of mistakes) fail(mistake);
    },
  };
}

/**
 * @param parts of all shards, each once.
 * @throws InputError as a compile, and INPUT_PARTS for another compiler.
 */
export async function mergeParts(
  parts: readonly PresentPart[],
  { compiler, openLevelSolver }: MergeOptions,
  method: CompilerMethod,
): Promise<Merged> {
  const [first] = parts;
  if (first === undefined) throw new RangeError("expected a part");
  const { header } = first.part;
  const { models } = header.source;
  const loaded = loadedOf(header);
  expectSameCompiler(first, loaded, compiler, method);
  const known = knownLevelsOf(parts);
  const opened = stagesOfParts(parts, method);
  let solvedHere = 0;
  let searchedHere = 0;
  const onBranch = () => {
    searchedHere++;
  };
  const compiled = await compile(loaded, {
    compiler,
    models,
    opened,
    openLevelSolver(frame) {
      const open = () => openLevelSolver(frame, method);
      const digest = digestOf(frame);
      const onSolved = ({ level }: SolvedLevel) => {
        if (known.branchesOf(digest, level.loadQps).length === 0) solvedHere++;
      };
      const share = header.divides ? ALL_BRANCHES : null;
      return knownFirst({ frame: digest, known, open, onSolved, share, onBranch });
    },
  });
  const { bundle } = compiled;
  const cut = opened?.cut(bundle) ?? { bundle, files: [] };
  return { ...compiled, models, ...cut, solvedHere, searchedHere, differing: known.differing };
}

/** In the order of the shards. */
function knownLevelsOf(parts: readonly PresentPart[]): KnownLevels {
  const known = new KnownLevels();
  for (const { part } of parts) {
    for (const level of part.levels) known.add(level);
    for (const branch of part.branches) known.addBranch(branch);
  }
  return known;
}

/** Levels of another build may differ. */
function expectSameCompiler(
  { path, part: { header } }: PresentPart,
  loaded: LoadedApplication,
  compiler: string,
  method: CompilerMethod,
): void {
  const own = fleetOfFirst(header, loaded, compiler, method);
  if (header.compiler === compiler && own === header.fleet) return;
  const what = header.compiler === compiler ? `another build of ${compiler}` : header.compiler;
  const expected = `expected a part by this compiler, ${compiler}`;
  throw new InputError("INPUT_PARTS", `${path}: ${expected}, got one by ${what}`);
}

function fleetOfFirst(
  { source }: PartHeader,
  loaded: LoadedApplication,
  compiler: string,
  method: CompilerMethod,
): string | null {
  for (const planned of plannedApplications(loaded, method)) {
    return fleetOf(compiler, source, method.frame(planned, source.models));
  }
  return null;
}
