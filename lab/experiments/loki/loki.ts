/** The experiments of docs/experiments/loki.md. */
import { lokiGpu } from "../gpu/loki-gpu.ts";
import type { Experiment } from "../harness/experiment.ts";
import { ablation } from "./ablation.ts";
import { comparison } from "./comparison.ts";
import { live } from "./live.ts";
import { plans } from "./plans.ts";
import { slo } from "./slo.ts";
import { solving } from "./solving.ts";
import { stages } from "./stages.ts";

export const loki: readonly Experiment[] = [
  plans,
  comparison,
  ablation,
  slo,
  stages,
  solving,
  live,
  lokiGpu,
];
