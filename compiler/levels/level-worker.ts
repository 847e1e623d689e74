/**
 * Process that solves levels, or recomputes their promises, one at a time. Its first message holds
 * what the levels share.
 */
import type { BundleFrame } from "../model/frames.ts";
import type {
  BranchNote,
  HeldBundle,
  LevelFailure,
  LevelReply,
  LevelRequest,
} from "../processes/level-request.ts";
import { answer } from "./answer.ts";

const nowMs = (): number => performance.now();

// A terminal interrupts the whole group; the compiler ends its workers itself. A worker without a
// compiler has no work.
process.on("SIGINT", () => {});
process.on("disconnect", () => process.exit());
process.once("message", (frame: BundleFrame) => {
  let held: HeldBundle | undefined;
  process.on("message", (message: LevelRequest | HeldBundle) => {
    if (message.kind === "bundle") held = message;
    else void attempt(frame, { ...held, ...message }).then((reply) => process.send?.(reply));
  });
});

/** Never rejects. */
async function attempt(
  frame: BundleFrame,
  request: LevelRequest,
): Promise<LevelReply | LevelFailure> {
  try {
    return await answer(frame, request, nowMs, (branch) => {
      process.send?.({ kind: "branch", branch } satisfies BranchNote);
    });
  } catch (error) {
    return { kind: "failed", stack: String(error instanceof Error ? error.stack : error) };
  }
}
