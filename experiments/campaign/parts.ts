/** The parts of the campaign, in the order in which they run. */
import { overload } from "./overload.ts";
import type { Part } from "./part.ts";
import { soak } from "./soak.ts";

export const PARTS: readonly Part[] = [overload, soak];
