/** The experiments of docs/experiments/themis.md. */
import type { Experiment } from "../harness/experiment.ts";
import { ablation, days, dropping, endToEnd } from "./burst-slice.ts";
import { parameters } from "./forecast-parameters.ts";
import { forecasts } from "./forecasts.ts";
import { live } from "./live.ts";
import { optima } from "./optima.ts";
import { overload } from "./overload.ts";
import { poisson } from "./poisson.ts";
import { scalers } from "./scalers.ts";
import { variants } from "./variants.ts";

export const themis: readonly Experiment[] = [
  optima,
  poisson,
  endToEnd,
  ablation,
  days,
  dropping,
  overload,
  forecasts,
  parameters,
  scalers,
  variants,
  live,
];
