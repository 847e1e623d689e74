/** Options of several commands, and how the values of options are read. */
import { InvalidArgumentError, Option } from "commander";
import type { ModelLimits } from "stratagem-runtime/internal/exec/model-reader";
import { WORKERS } from "stratagem-runtime/internal/settings/workers";
import { LOADS_EXPECTED, readLoads, readSlo, SLO_EXPECTED } from "./init/questions.ts";
import { MAX_SHARDS, readShard, type Shard } from "./sharding/shard.ts";

/** Unless `--model-timeout` says otherwise; as that of a server. */
const MODEL_TIMEOUT_MS = 60_000;
const MAX_TIMEOUT_MS = 86_400_000;
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

/** An option value such as 90s or 5min, in ms. */
export function timeoutMs(text: string): number {
  const match = /^(\d{1,6})(s|min)$/.exec(text);
  const ms = Number(match?.[1]) * (match?.[2] === "min" ? 60_000 : 1000);
  if (ms >= 1000 && ms <= MAX_TIMEOUT_MS) return ms;
  throw new InvalidArgumentError("expected 1s to 24 h in s or min, such as 90s");
}

/** An option value such as 150ms, as it is. */
export function slo(text: string): string {
  const read = readSlo(text);
  if (read !== undefined) return read;
  throw new InvalidArgumentError(`expected ${SLO_EXPECTED}`);
}

/** An option value such as 1,10,100. */
export function loads(text: string): number[] {
  const read = readLoads(text);
  if (read !== undefined) return read;
  throw new InvalidArgumentError(`expected ${LOADS_EXPECTED}`);
}

/** An option value such as 0, a whole number up to 100. */
export function count(text: string): number {
  if (/^(\d{1,2}|100)$/.test(text)) return Number(text);
  throw new InvalidArgumentError("expected a whole number from 0 to 100");
}

/** Gathers the values of an option that may be repeated. */
export function collect(value: string, earlier: readonly string[]): string[] {
  return [...earlier, value];
}

/** An option value such as 8GiB, in bytes. */
export function memoryBytes(text: string): number {
  const { kind } = WORKERS.workerMemory;
  const found = kind.read(text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`expected ${kind.expected}`);
}

/** Values of an option that may be repeated, each of which may hold several. */
export function joined(value: string, earlier: unknown): string {
  return typeof earlier === "string" ? `${earlier}; ${value}` : value;
}

/** An option of `compile`. */
export function shardOption(): Option {
  return new Option(
    "--shard <i/N>",
    "solve only share i of N, from 1, as a part that merge makes the bundle of",
  )
    .argParser(shard)
    .conflicts(["check", "require"]);
}

function shard(text: string): Shard {
  const read = readShard(text);
  if (read !== undefined) return read;
  throw new InvalidArgumentError(`expected i/N, i from 1 to N and N up to ${MAX_SHARDS}`);
}
