/** How requests arrive, in words. */
import type { InferlineBundle } from "../../../runtime/bundle/schema.ts";

export function arrivalText(arrivals: InferlineBundle["arrivals"]): string {
  if (arrivals.process === "trace") return `trace ${arrivals.file}`;
  return arrivals.process === "gamma" ? `gamma, CV² ${arrivals.cv2}` : "Poisson";
}
