/** Describes the arrival process. */
import type { InferlineBundle } from "stratagem-runtime/internal/bundle/schema";

export function arrivalText(arrivals: InferlineBundle["arrivals"]): string {
  if (arrivals.process === "trace") {
    const { file, spreadMs } = arrivals;
    return spreadMs === undefined ? `trace ${file}` : `trace ${file}, spread over ${spreadMs} ms`;
  }
  return arrivals.process === "gamma" ? `gamma, CV² ${arrivals.cv2}` : "Poisson";
}
