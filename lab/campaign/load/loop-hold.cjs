/**
 * Loaded before a server (`node --require`): writes down how much processor time its event loop
 * took between two looks of a timer, where that is long. Processor time, since a thread that waits
 * for a core holds nothing up; so Linux only.
 */
const { appendFileSync, readFileSync } = require("node:fs");

const LOOK_MS = 5;
/** Holds that are shorter are not written, ms. */
const LEAST_MS = 15;
const file = process.env.STRATAGEM_LOOP_HOLDS;
const thread = `/proc/self/task/${process.pid}/schedstat`;

function usedMs() {
  return Number(readFileSync(thread, "utf8").split(" ", 1)[0]) / 1e6;
}

if (file !== undefined) {
  let last = usedMs();
  setInterval(() => {
    const now = usedMs();
    const heldMs = now - last;
    if (heldMs > LEAST_MS) appendFileSync(file, `${Date.now()} ${heldMs.toFixed(1)}\n`);
    // The look itself is no hold.
    last = usedMs();
  }, LOOK_MS).unref();
}
