/** Makes the tuner that a bundle asks for. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { EnvelopeTuner } from "./envelope-tuner.ts";
import { FixedTuner } from "./fixed-tuner.ts";
import { JointTuner } from "./joint-tuner.ts";
import type { ReplicaTuner } from "./replica-tuner.ts";

/**
 * The tuner that a bundle asks for.
 * @param firstLevel index of the level that is followed first.
 * @param isFixed whether that is followed whatever comes.
 */
export function replicaTunerOf(
  bundle: InferlineBundle,
  firstLevel: number,
  isFixed = false,
): ReplicaTuner {
  const { tuner } = bundle.policy;
  if (tuner === "none") return new FixedTuner(bundle, firstLevel);
  if (tuner === "joint") return new JointTuner(bundle, firstLevel, isFixed);
  return new EnvelopeTuner(bundle, tuner, firstLevel);
}
