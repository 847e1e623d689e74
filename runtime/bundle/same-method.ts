/** Whether two bundles can be compared. */
import type { Bundle } from "./schema.ts";

/** Whether they are of one method, so what is said of one can be said of the other. */
export function isOfSameMethod<B extends Bundle>(before: B, after: Bundle): after is B {
  return after.method === before.method;
}
