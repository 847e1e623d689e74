/** Waits that end with a signal. */
import { setTimeout as pause } from "node:timers/promises";

/** Waits so many ms, or until aborted. Never rejects. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

/** Keeps the process alive: a command whose only work is this wait would end silently otherwise. */
export const realWait: Wait = async (ms, signal) => {
  await pause(ms, undefined, { signal }).catch(() => {});
};
