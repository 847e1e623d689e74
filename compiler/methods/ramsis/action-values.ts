/** What the actions of one state of a bundle are worth, as its solver recomputes it. */
import type {
  ActionValues,
  NoActionValues,
  RamsisBundle,
} from "stratagem-runtime/internal/bundle/schema";
import { planningFrame } from "./planning-frame.ts";
import { ramsis } from "./solve/ramsis.ts";

/** @param level index of the level that decides. */
export function actionValuesOf(
  { levels, provenance: _, ...frame }: RamsisBundle,
  level: number,
  queued: number,
  slackMs: number,
): ActionValues | NoActionValues {
  const decides = levels[level];
  if (decides === undefined) throw new RangeError(`no level ${level}`);
  return ramsis.actionValues(planningFrame(frame), decides, queued, slackMs);
}
