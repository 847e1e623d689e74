/** The parts of the campaign, in the order in which they run. */
import { BODIES } from "./bodies.ts";
import { BUNDLES } from "./bundles.ts";
import { CALLS } from "./calls.ts";
import { DISKS } from "./disks.ts";
import { FAULTS_OF_WORKERS } from "./faults.ts";
import { FILES } from "./files.ts";
import { HUNG } from "./hung.ts";
import { MALFORMED } from "./malformed.ts";
import { MODELS } from "./models.ts";
import { OTHER_SERVERS } from "./other-servers.ts";
import { OVERLOAD } from "./overload.ts";
import { PAGES } from "./pages.ts";
import type { Part } from "./part.ts";
import { PARTITIONS_OF_NATS } from "./partitions.ts";
import { RELOADS } from "./reloads.ts";
import { SHORTAGES } from "./shortages.ts";
import { SLOW } from "./slow.ts";
import { SOAK } from "./soak.ts";
import { SPECS } from "./specs.ts";
import { STOPS } from "./stops.ts";
import { WORKERS } from "./workers.ts";

export const PARTS: readonly Part[] = [
  BODIES,
  MALFORMED,
  PAGES,
  CALLS,
  SLOW,
  BUNDLES,
  SPECS,
  MODELS,
  WORKERS,
  FILES,
  DISKS,
  HUNG,
  FAULTS_OF_WORKERS,
  OTHER_SERVERS,
  OVERLOAD,
  SHORTAGES,
  STOPS,
  RELOADS,
  PARTITIONS_OF_NATS,
  SOAK,
];
