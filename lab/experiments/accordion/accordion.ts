/** The experiments of docs/experiments/accordion.md. */
import type { Experiment } from "../harness/experiment.ts";
import { bounds } from "./bounds.ts";
import { dropout } from "./dropout.ts";
import { fairness } from "./fairness.ts";
import { headline } from "./headline.ts";
import { live } from "./live.ts";
import { misses } from "./misses.ts";
import { rare } from "./rare.ts";
import { reconfiguration } from "./reconfiguration.ts";
import { streams } from "./streams.ts";

export const accordion: readonly Experiment[] = [
  headline,
  streams,
  dropout,
  reconfiguration,
  rare,
  fairness,
  misses,
  bounds,
  live,
];
