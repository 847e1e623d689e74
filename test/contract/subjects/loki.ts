/** All that the suite knows of loki. */
import { lokiBundles } from "./loki/bundles.ts";
import { lokiCompiled } from "./loki/compiled.ts";
import { lokiCore } from "./loki/core.ts";
import { lokiScheduled } from "./loki/scheduled.ts";
import { lokiServed } from "./loki/served.ts";
import { lokiShown } from "./loki/shown.ts";
import type { Subject } from "./subject.ts";

export const loki: Subject = {
  method: "loki",
  bundles: lokiBundles,
  compiled: lokiCompiled,
  core: lokiCore,
  scheduled: lokiScheduled,
  served: lokiServed,
  shown: lokiShown,
};
