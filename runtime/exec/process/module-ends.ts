/** Reports how a process that runs modules ends, beside its exit status. */
import { oneLine } from "../models/loaded-model.ts";
import type { BlockingChannel } from "./blocking-channel.ts";
import { FRAME_KINDS, textFrame } from "./worker-channel.ts";

/**
 * Ends the process when a module throws outside of its runs, such as in a timer, or when a run can
 * never be settled.
 */
export function reportHowItEnds(channel: Pick<BlockingChannel, "write">): void {
  process.on("uncaughtException", (error) => {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    channel.write(textFrame(FRAME_KINDS.failed, `a module threw by itself: ${oneLine(error)}`));
    process.exit(1);
  });
  // Such processes end by themselves only where what is awaited cannot come any more.
  process.on("beforeExit", () => {
    const reason = "a module never answers: nothing is left to settle what it waits for";
    channel.write(textFrame(FRAME_KINDS.failed, reason));
    process.exit(1);
  });
}
