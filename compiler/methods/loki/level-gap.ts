/** Says how far two levels of plans are apart in accuracy and in servers. */
import type { LokiLevel } from "stratagem-runtime/internal/bundle/schema";
import type { LevelGap } from "../method.ts";

/** Neighbours may differ by this part of the servers of the larger plan, or by one server. */
const SERVER_STEP = 0.2;

/** The accuracy is that of the plans, not that of their simulation. */
export function lokiGap({ plan: a }: LokiLevel, { plan: b }: LokiLevel): LevelGap {
  const allowed = Math.max(1, Math.floor(SERVER_STEP * Math.max(a.servers, b.servers)));
  return {
    accuracy: Math.abs(a.accuracy - b.accuracy),
    otherSteps: Math.abs(a.servers - b.servers) / (allowed + 0.5),
  };
}
