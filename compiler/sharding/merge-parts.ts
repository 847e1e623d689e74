/**
 * Makes of parts what one compile would have made.
 *
 * It is that compile, from the application that the parts carry, with a solver that has their
 * levels: so what depends on neighbours comes out the same. A level that several shards have
 * searched is searched once more with the branches that they know. A level that no part has is
 * solved here; there are such where a level of one shard makes all go on to a margin that another
 * shard had no need of, and where limits of time cut a search short.
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
  readonly files: readonly BundleFile[];
  /** Levels that no part had. */
  readonly solvedHere: number;
  /** Branches that no part had, of levels that several shards have searched. */
  readonly searchedHere: number;
  /** Levels that two parts have, to different results. */
  readonly differing: number;
}

/** The application of a part, as the spec gave it. */
export function loadedOf({ app, source }: PartHeader): LoadedApplication {
  const { application, inputs } = source;
  const fail = ({ code, message }: Mistake): never => {
    throw new InputError(code, `${app}: ${message}`);
  };
  return {
    application,
    inputs,
    fail,
    refuse(mistakes) {
      for (const mistake of mistakes) fail(mistake);
    },
  };
}

/**
 * @param parts of all shards, each once.
 * @throws InputError as a compile does, and INPUT_PARTS if they are of another compiler.
 */
export async function mergeParts(
  parts: readonly PresentPart[],
  { compiler, openLevelSolver }: MergeOptions,
  method: CompilerMethod,
): Promise<Merged> {
  const [first] = parts;
  if (first === undefined) throw new RangeError("a merge has a part");
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
  return { ...compiled, ...cut, solvedHere, searchedHere, differing: known.differing };
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

/** Levels of another build would be none of the bundle's. */
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
