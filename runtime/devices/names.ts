/** Names of processors and devices in profiles and bundles. */
import { cpus } from "node:os";

const MAX_NAME_LENGTH = 100;

/** Characters removed from names: "|" separates table columns, others are not printable. */
const NO_PART = /(?:[|\s]|[^ -~\u00a0-\u2027\u202a-\ud7ff\ue000-\uffff])+/g;

/** Reduces a name to one line of at most 100 printable characters. */
export function nameOf(text: string): string {
  return text.replace(NO_PART, " ").trim().slice(0, MAX_NAME_LENGTH);
}

/** Name of this machine's processor, or else its architecture. */
export function processorName(): string {
  return nameOf(cpus()[0]?.model ?? "") || process.arch;
}
