/** RAMSIS in the suite: tables of a queue for each worker. */
import { LATENCIES, TWO_VARIANTS } from "../../application.ts";
import type { CompiledSubject } from "../../command-line.ts";

export const ramsisCompiled: CompiledSubject = {
  tasks: TWO_VARIANTS,
  policy: { method: "ramsis", maxQueue: 4, balancer: "round-robin" },
  cluster: { workers: 2 },
  measured: LATENCIES,
  promised: "levels[0].expected.accuracyPerQuery",
  baselines: ["greedy"],
  foreignBaseline: "cg-mean",
  state: "queued=1,slack=40ms",
  answered: ["y"],
  model: "echo",
};
