/** What a part holds: the levels that one shard has solved, and of which compile they are. */
import { createHash } from "node:crypto";
import type { Level, ModelFile } from "stratagem-runtime/internal/bundle/schema";
import type { SolvedLevel } from "../methods/method.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { FoundBranch } from "../model/root-branches.ts";
import type { Application } from "../spec/application.ts";
import type { InputFile } from "../spec/named-files.ts";
import { exactText } from "./exact-json.ts";
import type { Shard } from "./shard.ts";

/** All that a merge needs of an application, so that it reads neither spec nor models. */
interface PartSource {
  readonly application: Application;
  readonly inputs: readonly InputFile[];
  /** By `modelKey`. */
  readonly models: ReadonlyMap<string, ModelFile>;
}

/** Of which compile a part is, and which share of it. */
export interface PartHeader {
  readonly shard: Shard;
  /** Path of the spec, as it was given. */
  readonly app: string;
  /** Name and version. */
  readonly compiler: string;
  /** What parts of the same compile have in common, as a digest. */
  readonly fleet: string;
  /** Whether levels are divided where there are fewer of them than shards. */
  readonly divides: boolean;
  readonly source: PartSource;
}

/** A level, and the digest of the frame that it was solved for. */
export interface PartLevel extends SolvedLevel {
  readonly frame: string;
}

/** A branch of the search of a level that several shards search, and the frame of the level. */
export interface PartBranch {
  readonly frame: string;
  readonly loadQps: number;
  readonly branch: FoundBranch;
}

/** Stages of models, as the bundle of a frame names them. */
export interface PartStages {
  readonly frame: string;
  readonly tasks: readonly object[];
  /** Of all shards. */
  readonly files: readonly StageFile[];
  /** Those that lie beside this part. */
  readonly own: readonly string[];
}

export interface StageFile {
  /** File name without directories. */
  readonly file: string;
  readonly sha256: string;
}

export interface Part {
  readonly header: PartHeader;
  readonly levels: readonly PartLevel[];
  readonly branches: readonly PartBranch[];
  readonly stages: readonly PartStages[];
}

/** The same frame gives the same digest wherever it is made. */
export function digestOf(frame: BundleFrame): string {
  return sha256(exactText(frame));
}

/**
 * What has to be the same for levels to go together: the compiler, all files, and all that options
 * change. Paths of this machine are none of it.
 * @param frame the first that is planned with.
 */
export function fleetOf(
  compiler: string,
  { application: { loads, requirements }, inputs }: PartSource,
  frame: BundleFrame,
): string {
  const asked = { loads, requirements: requirements ?? [] };
  return sha256(exactText({ compiler, inputs, frame: digestOf(frame), asked }));
}

/** The text of a level that is the same for the same level, whatever it took. */
export function levelText(level: Level): string {
  return exactText(level);
}

export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
