/** Themis's frames as planners see them: models alone, with times stretched by contention. */
import type { ThemisFrame } from "../../model/frames.ts";
import { framesByStretch } from "../../model/planned-frames.ts";
import { stretchedTable, withoutPath } from "../../model/planned-times.ts";

/** Its SLO is what decisions may spend, and its times are stretched. */
export const planningFrame = framesByStretch((frame: ThemisFrame, stretch: number): ThemisFrame => {
  if (frame.cluster.serving === undefined) return frame;
  return pacedFrame(withoutPath(frame), stretch);
});

/** A frame with the batch times of a slower pace. */
export function pacedFrame<Frame extends Pick<ThemisFrame, "tasks">>(
  frame: Frame,
  pace: number,
): Frame {
  return {
    ...frame,
    tasks: frame.tasks.map((task) => ({
      ...task,
      variants: task.variants.map((variant) => {
        const { latency } = variant;
        return { ...variant, latency: { ...latency, ms: stretchedTable(latency.ms, pace) } };
      }),
    })),
  };
}
