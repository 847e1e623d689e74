/** The parts of the campaign, in the order in which they run. */
import { BODIES } from "./bodies.ts";
import { bundles } from "./bundles.ts";
import { FILES } from "./files.ts";
import { hung } from "./hung.ts";
import { MALFORMED } from "./malformed.ts";
import { modelsPart } from "./models.ts";
import { overload } from "./overload.ts";
import type { Part } from "./part.ts";
import { SLOW } from "./slow.ts";
import { soak } from "./soak.ts";
import { specsPart } from "./specs.ts";
import { workers } from "./workers.ts";

export const PARTS: readonly Part[] = [
  BODIES,
  MALFORMED,
  SLOW,
  FILES,
  bundles,
  hung,
  modelsPart,
  overload,
  soak,
  specsPart,
  workers,
];
