/** Parses `--device`, `--worker-env` and `--provider-options` for the measured worker. */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import { DEVICE_FORM, parseDevice } from "stratagem-runtime/internal/bundle/schema";
import type { WorkerDevice } from "stratagem-runtime/internal/exec/models/worker-device";
import {
  checkProviderOptions,
  parseProviderOptions,
} from "stratagem-runtime/internal/exec/onnx/provider-options";

export interface DeviceFlags {
  readonly device: string;
  /** `NAME=VALUE` each. */
  readonly workerEnv: readonly string[];
  readonly providerOptions?: string;
}

const VARIABLE = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/s;

/** @throws RuntimeError RUNTIME_USAGE for an invalid device. */
export function profiledDevice({ device, workerEnv, providerOptions }: DeviceFlags): WorkerDevice {
  const parsed = parseDevice(device);
  if (parsed === null) {
    throw usage(`--device: expected ${DEVICE_FORM}, got ${JSON.stringify(device)}`);
  }
  const { provider, ids } = parsed;
  if (ids.length > 1) {
    const example = `${provider}:${ids[0]}`;
    throw usage(`--device: expected exactly one device, such as ${example}`);
  }
  const options = providerOptions === undefined ? {} : parsedOptions(providerOptions);
  const mistake = checkProviderOptions(provider, options);
  if (mistake !== null) throw usage(`--provider-options: ${mistake}`);
  return { provider, id: ids[0] ?? null, environment: variables(workerEnv), options };
}

function parsedOptions(text: string): WorkerDevice["options"] {
  try {
    return parseProviderOptions(text);
  } catch (error) {
    throw usage(`--provider-options: ${error instanceof Error ? error.message : error}`);
  }
}

function variables(texts: readonly string[]): Record<string, string> {
  const read = texts.map((text): [string, string] => {
    const [, name, value] = VARIABLE.exec(text) ?? [];
    if (name !== undefined && value !== undefined) return [name, value];
    const example = "VK_DRIVER_FILES=/etc/vulkan/icd.d/x.json";
    throw usage(`--worker-env: expected a variable such as ${example}, got ${shown(text)}`);
  });
  return Object.fromEntries(read);
}

function shown(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}

function usage(message: string): RuntimeError {
  return new RuntimeError("RUNTIME_USAGE", message);
}
