/** Names of processors and devices, as profiles and bundles have them. */
import { cpus } from "node:os";

const MAX_NAME_LENGTH = 100;

/** What no name has: "|" divides columns of tables, and the rest cannot be printed. */
const NO_PART = /(?:[|\s]|[^ -~\u00a0-\u2027\u202a-\ud7ff\ue000-\uffff])+/g;

/** One line of at most 100 characters, all of which can be printed. */
export function nameOf(told: string): string {
  return told.replace(NO_PART, " ").trim().slice(0, MAX_NAME_LENGTH);
}

/** That of this machine; its architecture where the system does not tell. */
export function processorName(): string {
  return nameOf(cpus()[0]?.model ?? "") || process.arch;
}
