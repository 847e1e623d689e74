/** Whether two bundles can be compared. */
import type { Bundle } from "./schema.ts";

/** Whether two bundles are of one method, so that their fields can be compared. */
export function isOfSameMethod<B extends Bundle>(before: B, after: Bundle): after is B {
  return after.method === before.method;
}
