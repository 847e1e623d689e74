/** What the actions of one state of a bundle are worth, as its solver recomputes it. */
import type { ActionValues, Bundle, NoActionValues } from "../runtime/bundle/schema.ts";
import { solverFor } from "./solvers/registry.ts";

/** @param level index of the level that decides. */
export function actionValuesOf(
  { levels, provenance: _, ...frame }: Bundle,
  level: number,
  queued: number,
  slackMs: number,
): ActionValues | NoActionValues {
  const decides = levels[level];
  if (decides === undefined) throw new RangeError(`no level ${level}`);
  return solverFor(frame.method).actionValues(frame, decides, queued, slackMs);
}
