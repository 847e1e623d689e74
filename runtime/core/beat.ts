/** Unit of time for measuring, holding and forgetting. */
import type { Slo } from "../bundle/schema.ts";

/** At an SLO of 100 ms a beat is a second. */
const SLOS = 10;

/**
 * A beat is ten SLOs, of the shortest class where there are classes. Times that no spec states
 * count in beats, so that an application a thousand times slower is served by the same decisions,
 * each a thousand times later. Papers that state such times in seconds have SLOs of about 100 ms.
 */
export function beatMsOf({ latencyMs, classes = [] }: Pick<Slo, "latencyMs" | "classes">): number {
  return SLOS * Math.min(latencyMs, ...classes.map((one) => one.latencyMs));
}
