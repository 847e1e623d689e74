/** What the suite has to know of a method to put it to the test. */
import type { Bundle } from "../../../runtime/bundle/schema.ts";
import type { CompiledSubject } from "../command-line.ts";
import type { BundleSubject } from "./bundles.ts";
import type { CoreSubject } from "./core.ts";
import type { ScheduledSubject } from "./scheduled.ts";
import type { ServedSubject } from "./served.ts";
import type { ShownSubject } from "./shown.ts";

export interface Subject {
  readonly method: Bundle["method"];
  readonly bundles: BundleSubject;
  readonly compiled: CompiledSubject;
  readonly core: CoreSubject;
  readonly scheduled: ScheduledSubject;
  readonly served: ServedSubject;
  readonly shown: ShownSubject;
}
