/** The parts of the campaign, in the order in which they run. */
import { BODIES } from "./bodies.ts";
import { BUNDLES } from "./bundles.ts";
import { CALLS } from "./calls.ts";
import { FILES } from "./files.ts";
import { HUNG } from "./hung.ts";
import { MALFORMED } from "./malformed.ts";
import { MODELS } from "./models.ts";
import { OVERLOAD } from "./overload.ts";
import type { Part } from "./part.ts";
import { RELOADS } from "./reloads.ts";
import { SLOW } from "./slow.ts";
import { SOAK } from "./soak.ts";
import { SPECS } from "./specs.ts";
import { STOPS } from "./stops.ts";
import { WORKERS } from "./workers.ts";

export const PARTS: readonly Part[] = [
  BODIES,
  MALFORMED,
  CALLS,
  SLOW,
  BUNDLES,
  SPECS,
  MODELS,
  WORKERS,
  FILES,
  HUNG,
  OVERLOAD,
  STOPS,
  RELOADS,
  SOAK,
];
