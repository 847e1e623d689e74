/** All that the suite knows of accordion. */
import { accordionBundles } from "./accordion/bundles.ts";
import { accordionCompiled } from "./accordion/compiled.ts";
import { accordionCore } from "./accordion/core.ts";
import { accordionScheduled } from "./accordion/scheduled.ts";
import { accordionServed } from "./accordion/served.ts";
import { accordionShown } from "./accordion/shown.ts";
import type { Subject } from "./subject.ts";

export const accordion: Subject = {
  method: "accordion",
  bundles: accordionBundles,
  compiled: accordionCompiled,
  core: accordionCore,
  scheduled: accordionScheduled,
  served: accordionServed,
  shown: accordionShown,
};
