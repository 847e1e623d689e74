/** A process that runs modules tells how they end it, beside its exit status. */
import type { BlockingChannel } from "./blocking-channel.ts";
import { FRAME_KINDS, textFrame } from "./frame-protocol.ts";
import { oneLine } from "./loaded-model.ts";

/** Of Node, for a promise that is awaited and that nothing is left to settle. */
const UNSETTLED = 13;

/**
 * Ends the process for what a module throws outside of its runs, such as in a timer, and for a run
 * that waits for nothing.
 */
export function tellHowItEnds(channel: BlockingChannel): void {
  process.on("uncaughtException", (error) => {
    console.error(error);
    channel.write(textFrame(FRAME_KINDS.failed, `a module threw by itself: ${oneLine(error)}`));
    process.exit(1);
  });
  process.on("exit", (code) => {
    if (code !== UNSETTLED) return;
    const reason = "a module never answers: nothing is left to settle what it waits for";
    channel.write(textFrame(FRAME_KINDS.failed, reason));
  });
}
