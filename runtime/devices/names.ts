/** Names of processors and devices, as profiles and bundles have them. */
import { cpus } from "node:os";

const MAX_NAME_LENGTH = 100;

/** One line of at most 100 characters without "|", which divides columns of tables. */
export function nameOf(model: string): string {
  return model
    .replace(/[|\s]+/g, " ")
    .trim()
    .slice(0, MAX_NAME_LENGTH);
}

/** Of a driver, by the name that it gives itself and its version: without "driver", as others say. */
export function driverName(name: string, version: string): string {
  return nameOf(`${name.replace(/ driver$/i, "")} ${version}`);
}

/** That of this machine; its architecture where the system does not tell. */
export function processorName(): string {
  return nameOf(cpus()[0]?.model ?? "") || process.arch;
}
