/** Model stages beside parts, passed on by a merge. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Bundle } from "stratagem-runtime/internal/bundle/schema";
import type { BundleFile, CompilerMethod, OpenedModels } from "../methods/method.ts";
import { InputError } from "../spec/document/input-error.ts";
import type { PresentPart } from "./fleet.ts";
import { digestOf, type PartStages, type StageFile, sha256 } from "./part.ts";

/** Returns the stages that the parts were made with; null without stages. */
export function stagesOfParts(
  parts: readonly PresentPart[],
  method: CompilerMethod,
): OpenedModels | null {
  const byFrame = new Map<string, PartStages>();
  const folders = new Map<string, string>();
  for (const { path, part } of parts) {
    for (const stages of part.stages) {
      byFrame.set(stages.frame, stages);
      for (const file of stages.own) folders.set(file, dirname(path));
    }
  }
  if (byFrame.size === 0) return null;
  return {
    mistakes: () => [],
    cut(bundle) {
      const stages = byFrame.get(digestOf(method.frameOf(bundle)));
      if (stages === undefined) throw new TypeError("expected stages of the frame in every part");
      // Validated when the bundle is encoded.
      const cut = { ...bundle, tasks: stages.tasks } as unknown as Bundle;
      return { bundle: cut, files: stages.files.map((file) => fileOf(file, folders)) };
    },
  };
}

/** @throws InputError for a missing or changed file beside its part. */
function fileOf(
  { file, sha256: digest }: StageFile,
  folders: ReadonlyMap<string, string>,
): BundleFile {
  const folder = folders.get(file);
  if (folder === undefined || basename(file) !== file) {
    throw new InputError("INPUT_PARTS", `expected ${file} beside a part, got none`);
  }
  const path = join(folder, file);
  return { file, sha256: digest, bytes: () => bytesOf(path, digest) };
}

function bytesOf(path: string, digest: string): Uint8Array {
  const expected = `${path}: expected a stage written by compile --shard beside its part`;
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new InputError("INPUT_UNREADABLE", `${expected}; cannot be read (${code ?? message})`);
  }
  if (sha256(bytes) !== digest)
    throw new InputError("INPUT_PARTS", `${expected}, got another file`);
  return bytes;
}
