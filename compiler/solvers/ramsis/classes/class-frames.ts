/** A frame with classes as the frames of its parts: what a class is to a solver that knows of one SLO. */
import { withWorkers } from "../../../../runtime/bundle/class-views.ts";
import type { SloClass } from "../../../../runtime/bundle/schema.ts";
import type { RamsisFrame } from "../../solver.ts";

/** One class by itself, with so many workers. @param index of the class. */
export function classFrame(frame: RamsisFrame, index: number, workers: number): RamsisFrame {
  const { classSpaces, slo, policy, arrivals, cluster, decisionSpace, ...rest } = frame;
  const { latencyMs, share } = classOf(frame, index);
  const { classes: _classes, ...oneSlo } = slo;
  const { classes: _how, ...options } = policy;
  return {
    ...rest,
    slo: { ...oneSlo, latencyMs },
    policy: options,
    arrivals: thinned(arrivals, share),
    cluster: withWorkers(cluster, workers),
    decisionSpace: { ...decisionSpace, ...classSpaces?.[index] },
  };
}

function classOf({ slo }: Pick<RamsisFrame, "slo">, index: number): SloClass {
  const sloClass = slo.classes?.[index];
  if (sloClass === undefined) throw new RangeError("a frame with classes has this one");
  return sloClass;
}

/** Arrivals of which each is kept with a probability: their counts vary less for their mean, down to those of a Poisson process. */
function thinned(arrivals: RamsisFrame["arrivals"], share: number): RamsisFrame["arrivals"] {
  const less = (dispersion: number): number => 1 + share * (dispersion - 1);
  if (arrivals.process === "gamma") return { ...arrivals, cv2: less(arrivals.cv2) };
  if (arrivals.process === "trace") return { ...arrivals, dispersion: less(arrivals.dispersion) };
  return arrivals;
}
