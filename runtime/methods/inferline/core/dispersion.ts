/** Measures how bursty recorded arrivals are. */
import type { ArrivalModel } from "../../../bundle/schema.ts";

/** Variance over mean of the requests in a window; of gamma gaps, that of a long one. */
export function dispersionOf(arrivals: ArrivalModel): number {
  switch (arrivals.process) {
    case "poisson":
      return 1;
    case "gamma":
      return arrivals.cv2;
    case "trace":
      return arrivals.dispersion;
  }
}
