/** The experiments of docs/experiments/inferline.md. */
import { inferlineGpu } from "../gpu/inferline-gpu.ts";
import type { Experiment } from "../harness/experiment.ts";
import { bursts } from "./bursts.ts";
import { choice, days } from "./days.ts";
import { fig9 } from "./estimator.ts";
import { live } from "./live.ts";
import { mixed } from "./mixed-stages.ts";
import { fig6, fig10 } from "./plans.ts";
import { greedy, random } from "./random-pipelines.ts";
import { scalers } from "./scalers.ts";
import { fig11, fig12 } from "./sensitivity.ts";
import { surge } from "./surges.ts";
import { fig7, fig8, fig13, steady } from "./tuning.ts";

export const inferline: readonly Experiment[] = [
  fig6,
  fig7,
  fig8,
  fig9,
  fig10,
  fig11,
  fig12,
  fig13,
  steady,
  surge,
  bursts,
  days,
  choice,
  random,
  greedy,
  scalers,
  mixed,
  live,
  inferlineGpu,
];
