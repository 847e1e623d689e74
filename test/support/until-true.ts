/** Waits for what other processes do, with an end that names what did not happen. */
import { setTimeout as pause } from "node:timers/promises";

const POLL_MS = 50;
const LONGEST_MS = 90_000;

/** Asks until it is so. @throws Error that names what did not happen in 90 s. */
export async function untilTrue(
  what: string,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const endMs = performance.now() + LONGEST_MS;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(`expected in ${LONGEST_MS} ms: ${what}`);
    await pause(POLL_MS);
  }
}
