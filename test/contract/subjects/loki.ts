/** Loki in the suite: plans of servers for a pipeline. */
import type { LokiBundle } from "../../../runtime/bundle/schema.ts";
import { LATENCIES, twoTasks } from "../application.ts";
import type { Subject } from "./subject.ts";

export const loki: Subject<LokiBundle> = {
  method: "loki",
  compiled: {
    tasks: twoTasks(["small", "large"]),
    policy: { method: "loki", headroom: "auto" },
    cluster: { workers: 4 },
    measured: LATENCIES,
    promised: "levels[0].expected.latencyMsP99",
    baselines: ["inferline", "proteus"],
    foreignBaseline: "greedy",
    hasStates: false,
    answered: ["second.y"],
    model: "echo",
    reread: /not followed, .*not exchanged while it is served/,
  },
};
