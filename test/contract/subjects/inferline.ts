/** All that the suite knows of inferline. */
import { inferlineBundles } from "./inferline/bundles.ts";
import { inferlineCompiled } from "./inferline/compiled.ts";
import { inferlineCore } from "./inferline/core.ts";
import { inferlineScheduled } from "./inferline/scheduled.ts";
import { inferlineServed } from "./inferline/served.ts";
import { inferlineShown } from "./inferline/shown.ts";
import type { Subject } from "./subject.ts";

export const inferline: Subject = {
  method: "inferline",
  bundles: inferlineBundles,
  compiled: inferlineCompiled,
  core: inferlineCore,
  scheduled: inferlineScheduled,
  served: inferlineServed,
  shown: inferlineShown,
};
