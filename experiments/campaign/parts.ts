/** The parts of the campaign, in the order in which they run. */
import { bundles } from "./bundles.ts";
import { FILES } from "./files.ts";
import type { Part } from "./part.ts";

export const PARTS: readonly Part[] = [FILES, bundles];
