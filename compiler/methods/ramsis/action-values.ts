/** What the actions of one state of a bundle are worth, as its solver recomputes it. */
import type {
  ActionValues,
  NoActionValues,
  RamsisBundle,
} from "stratagem-runtime/internal/bundle/schema";
import { onOwnAxes, planningFrame, planOfLevel } from "./planning-frame.ts";
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
  const plan = planOfLevel(frame, decides);
  const planned = planningFrame(frame, decides.loadQps, plan);
  const moreMs = plan.marginMs - (frame.cluster.serving?.marginMs ?? 0);
  return ramsis.actionValues(planned, onOwnAxes(frame, planned, decides), queued, slackMs - moreMs);
}
