/** Waits that end with a signal, and do not keep the process alive. */
import { setTimeout as pause } from "node:timers/promises";

/** Waits so many ms, or until aborted. Never rejects. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

export const realWait: Wait = async (ms, signal) => {
  await pause(ms, undefined, { signal, ref: false }).catch(() => {});
};
