/** The experiments of docs/experiments/ramsis.md. */
import { ramsisGpu } from "../gpu/ramsis-gpu.ts";
import type { Experiment } from "../harness/experiment.ts";
import { peers } from "./peers.ts";
import { pooled } from "./pooled.ts";
import { trace } from "./trace.ts";
import { truth } from "./truth.ts";

export const ramsis: readonly Experiment[] = [truth, pooled, trace, peers, ramsisGpu];
