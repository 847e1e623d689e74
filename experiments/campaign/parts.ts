/** The parts of the campaign, in the order in which they run. */
import { bundles } from "./bundles.ts";
import type { Part } from "./part.ts";

export const PARTS: readonly Part[] = [bundles];
