/** What the suite has to know of a method to put it to the test. */
import type { Bundle } from "../../../runtime/bundle/schema.ts";
import type { CompiledSubject } from "../command-line.ts";

export interface Subject<B extends Bundle = Bundle> {
  readonly method: B["method"];
  readonly compiled: CompiledSubject;
}
