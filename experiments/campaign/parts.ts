/** The parts of the campaign, in the order in which they run. */
import { hung } from "./hung.ts";
import type { Part } from "./part.ts";
import { workers } from "./workers.ts";

export const PARTS: readonly Part[] = [hung, workers];
