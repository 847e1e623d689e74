/** Options of the commands that read or run models: what a process may take for one. */
import { InvalidArgumentError, Option } from "commander";
import type { ModelLimits } from "stratagem-runtime/internal/exec/process/model-reader";
import { processMemory } from "stratagem-runtime/internal/settings/kinds";
import { timeoutMs } from "./option-values.ts";

/** Unless `--model-timeout` says otherwise; as that of a server. */
const MODEL_TIMEOUT_MS = 60_000;
/** What `--model-memory` is. */
export const MODEL_MEMORY =
  "memory of a process that has models, such as 8GiB (default: by its models, at least 4GiB; " +
  "none on a GPU)";

/** Values of the options that bound what reads or runs models. */
export interface ModelFlags {
  readonly modelMemory?: number;
  readonly modelTimeout: number;
}

export function modelTimeout(): Option {
  return new Option("--model-timeout <time>", "longest time for loading or running a model")
    .argParser(timeoutMs)
    .default(MODEL_TIMEOUT_MS, "60s");
}

export function modelLimitsOf(flags: ModelFlags): ModelLimits {
  return { memoryBytes: flags.modelMemory ?? null, timeoutMs: flags.modelTimeout };
}

/** An option value such as 8GiB, in bytes. */
export function memoryBytes(text: string): number {
  const found = processMemory.read(text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`expected ${processMemory.expected}`);
}
