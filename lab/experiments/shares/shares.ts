/** The experiments of docs/experiments/shares.md. */
import type { Experiment } from "../harness/experiment.ts";
import { levels } from "./levels.ts";
import { plans } from "./plans.ts";
import { split } from "./split.ts";

export const shares: readonly Experiment[] = [split, levels, plans];
