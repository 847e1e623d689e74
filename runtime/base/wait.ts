/** Waiting that ends with a signal, and keeps no process alive that has nothing else to do. */
import { setTimeout as pause } from "node:timers/promises";

/** Waits so many ms, or until it is aborted. Never rejects. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<void>;

export const realWait: Wait = async (ms, signal) => {
  await pause(ms, undefined, { signal, ref: false }).catch(() => {});
};
