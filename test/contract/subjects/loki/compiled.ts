/** Loki in the suite: plans of servers for a pipeline. */
import { LATENCIES, twoTasks } from "../../application.ts";
import type { CompiledSubject } from "../../command-line.ts";

export const lokiCompiled: CompiledSubject = {
  tasks: twoTasks(["small", "large"]),
  policy: { method: "loki", headroom: "auto" },
  cluster: { workers: 4 },
  measured: LATENCIES,
  promised: "levels[0].expected.latencyMsP99",
  baselines: ["inferline"],
  foreignBaseline: "greedy",
  state: null,
  answered: ["second.y"],
  model: "echo",
};
