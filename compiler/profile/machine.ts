/** Describes the machine that latencies were measured on. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { release, totalmem, type } from "node:os";
import { processorsOf, quotaText } from "stratagem-runtime/internal/base/control-groups";
import { processorName } from "stratagem-runtime/internal/devices/names";

export interface Machine {
  readonly processor: string;
  /** Cores available to this process. */
  readonly cores: number;
  /** Text such as "1.0 processors by quota (cpu.max)"; null without a quota below the cores. */
  readonly quota: string | null;
  readonly memoryBytes: number;
  readonly os: string;
  readonly nodeVersion: string;
  readonly onnxruntimeVersion: string;
}

export function describeMachine(): Machine {
  const processors = processorsOf();
  return {
    processor: processorName(),
    cores: processors.count,
    quota: quotaText(processors),
    memoryBytes: totalmem(),
    os: `${type()} ${release()}`,
    nodeVersion: process.versions.node,
    onnxruntimeVersion: onnxruntimeVersion(),
  };
}

/** Reads the version from the package, so that the engine itself is not loaded here. */
function onnxruntimeVersion(): string {
  const path = createRequire(import.meta.url).resolve(`${ENGINE}/package.json`);
  const { version } = JSON.parse(readFileSync(path, "utf8")) as { version: string };
  return version;
}

const ENGINE = "onnxruntime-node";
