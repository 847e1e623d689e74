/** All that the suite knows of ramsis. */
import { ramsisBundles } from "./ramsis/bundles.ts";
import { ramsisCompiled } from "./ramsis/compiled.ts";
import { ramsisCore } from "./ramsis/core.ts";
import { ramsisScheduled } from "./ramsis/scheduled.ts";
import { ramsisServed } from "./ramsis/served.ts";
import { ramsisShown } from "./ramsis/shown.ts";
import type { Subject } from "./subject.ts";

export const ramsis: Subject = {
  method: "ramsis",
  bundles: ramsisBundles,
  compiled: ramsisCompiled,
  core: ramsisCore,
  scheduled: ramsisScheduled,
  served: ramsisServed,
  shown: ramsisShown,
};
