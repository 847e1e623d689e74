/** InferLine's frames as planners see them: models alone, times as workers stretch them. */
import type { InferlineFrame } from "../../model/frames.ts";
import { framesByStretch } from "../../model/planned-frames.ts";
import { stretchedProfile, withoutPath } from "../../model/planned-times.ts";

/** Its SLO is what decisions may spend, and its times are so many times as long. */
export const planningFrame = framesByStretch(
  (frame: InferlineFrame, stretch: number): InferlineFrame => {
    if (frame.cluster.serving === undefined) return frame;
    return {
      ...withoutPath(frame),
      tasks: frame.tasks.map((task) => ({
        ...task,
        variants: task.variants.map((variant) => ({
          ...variant,
          profiles: variant.profiles.map((profile) => stretchedProfile(profile, stretch)),
        })),
      })),
    };
  },
);
