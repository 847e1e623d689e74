/** RAMSIS in the suite: tables of a queue for each worker. */
import type { RamsisBundle } from "../../../runtime/bundle/schema.ts";
import { LATENCIES, TWO_VARIANTS } from "../application.ts";
import type { Subject } from "./subject.ts";

export const ramsis: Subject<RamsisBundle> = {
  method: "ramsis",
  compiled: {
    tasks: TWO_VARIANTS,
    policy: { method: "ramsis", maxQueue: 4, balancer: "round-robin" },
    cluster: { workers: 2 },
    measured: LATENCIES,
    promised: "levels[0].expected.accuracyPerQuery",
    baselines: ["greedy"],
    foreignBaseline: "cg-mean",
    hasStates: true,
    answered: ["y"],
    model: "echo",
    reread: /serving it as it is now/,
  },
};
