/** Describes the arrival process. */
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";

export function arrivalText(arrivals: InferlineBundle["arrivals"]): string {
  if (arrivals.process === "trace") return `trace ${arrivals.file}`;
  return arrivals.process === "gamma" ? `gamma, CV² ${arrivals.cv2}` : "Poisson";
}
