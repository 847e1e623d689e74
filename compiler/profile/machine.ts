/** Describes the machine that latencies were measured on. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, release, totalmem, type } from "node:os";

/** What latencies were measured on. */
export interface Machine {
  readonly processor: string;
  /** That this process may use. */
  readonly cores: number;
  readonly memoryBytes: number;
  readonly os: string;
  readonly nodeVersion: string;
  readonly onnxruntimeVersion: string;
}

export function describeMachine(): Machine {
  const model = cpus()[0]?.model ?? "";
  return {
    processor: hardwareName(model) || process.arch,
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    os: `${type()} ${release()}`,
    nodeVersion: process.versions.node,
    onnxruntimeVersion: onnxruntimeVersion(),
  };
}

/** Text of a driver as profiles and bundles take it. */
export function printable(text: string): string {
  return text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Surrogate}]+/gu, " ")
    .trim()
    .slice(0, MAX_DEVICE_LENGTH);
}

/** A name as profiles have them. */
export function hardwareName(model: string): string {
  return model
    .replace(/[|\s]+/g, " ")
    .trim()
    .slice(0, MAX_NAME_LENGTH);
}

const MAX_NAME_LENGTH = 100;
const MAX_DEVICE_LENGTH = 200;

/** Read from the package, so that the engine itself is not loaded here. */
function onnxruntimeVersion(): string {
  const path = createRequire(import.meta.url).resolve(`${ENGINE}/package.json`);
  const { version } = JSON.parse(readFileSync(path, "utf8")) as { version: string };
  return version;
}

const ENGINE = "onnxruntime-node";
