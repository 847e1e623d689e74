/** The parts of the campaign, in the order in which they run. */
import { overload } from "./overload.ts";
import { soak } from "./soak.ts";
import type { Part } from "./part.ts";

export const PARTS: readonly Part[] = [overload, soak];
