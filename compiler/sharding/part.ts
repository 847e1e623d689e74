/** Content of a part: the levels that a shard has solved, and their compile. */
import { createHash } from "node:crypto";
import type { Level, ModelFile } from "stratagem-runtime/internal/bundle/schema";
import type { SolvedLevel } from "../methods/method.ts";
import type { BundleFrame } from "../model/frames.ts";
import type { FoundBranch } from "../model/root-branches.ts";
import type { Application } from "../spec/application.ts";
import type { InputFile } from "../spec/named-files.ts";
import { exactText } from "./exact-json.ts";
import type { Shard } from "./shard.ts";

/** Everything that a merge needs from an application, so that it reads neither spec nor models. */
interface PartSource {
  readonly application: Application;
  readonly inputs: readonly InputFile[];
  /** Keys are those of `modelKey`. */
  readonly models: ReadonlyMap<string, ModelFile>;
}

/** Identifies the compile of a part, and its share. */
export interface PartHeader {
  readonly shard: Shard;
  /** Path of the spec, as given. */
  readonly app: string;
  /** Name and version. */
  readonly compiler: string;
  /** Digest of everything that parts of the same compile share. */
  readonly fleet: string;
  /** True if the search of a level is divided when there are fewer levels than shards. */
  readonly divides: boolean;
  readonly source: PartSource;
}

/** Level with the digest of its frame. */
export interface PartLevel extends SolvedLevel {
  readonly frame: string;
}

/** Branch of the search of a shared level, with its frame. */
export interface PartBranch {
  readonly frame: string;
  readonly loadQps: number;
  readonly branch: FoundBranch;
}

/** Model stages in the bundle of a frame. */
export interface PartStages {
  readonly frame: string;
  readonly tasks: readonly object[];
  readonly files: readonly StageFile[];
  /** Files beside this part. */
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

/** Equal frames have equal digests on all machines. */
export function digestOf(frame: BundleFrame): string {
  return sha256(exactText(frame));
}

/**
 * Digest of everything that must be equal for levels to fit together: the compiler, all files, and
 * all relevant options, without local paths.
 * @param frame of the first plan.
 */
export function fleetOf(
  compiler: string,
  { application: { loads, requirements }, inputs }: PartSource,
  frame: BundleFrame,
): string {
  const asked = { loads, requirements: requirements ?? [] };
  return sha256(exactText({ compiler, inputs, frame: digestOf(frame), asked }));
}

/** Text of a level, equal for equal levels. */
export function levelText(level: Level): string {
  return exactText(level);
}

export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
