/** All that the suite knows of themis. */

import type { Subject } from "./subject.ts";
import { themisBundles } from "./themis/bundles.ts";
import { themisCompiled } from "./themis/compiled.ts";
import { themisCore } from "./themis/core.ts";
import { themisScheduled } from "./themis/scheduled.ts";
import { themisServed } from "./themis/served.ts";
import { themisShown } from "./themis/shown.ts";

export const themis: Subject = {
  method: "themis",
  bundles: themisBundles,
  compiled: themisCompiled,
  core: themisCore,
  scheduled: themisScheduled,
  served: themisServed,
  shown: themisShown,
};
