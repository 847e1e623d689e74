/** The experiments of docs/scale.md. */
import type { Experiment } from "../harness/experiment.ts";
import { decisions } from "./decisions.ts";
import { losses } from "./losses.ts";

export const scale: readonly Experiment[] = [decisions, losses];
