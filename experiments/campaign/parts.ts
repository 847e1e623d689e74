/** The parts of the campaign, in the order in which they run. */
import { modelsPart } from "./models.ts";
import type { Part } from "./part.ts";
import { specsPart } from "./specs.ts";

export const PARTS: readonly Part[] = [specsPart, modelsPart];
