/** InferLine in the suite: replicas for the stages of a pipeline. */
import { LATENCIES, twoTasks } from "../../application.ts";
import type { CompiledSubject } from "../../command-line.ts";

export const inferlineCompiled: CompiledSubject = {
  tasks: twoTasks(["small"]),
  policy: { method: "inferline", sampleDuration: "5 s" },
  cluster: { pools: [{ name: "cores", hardware: "test", workers: 6, pricePerHour: 0.1 }] },
  measured: LATENCIES,
  promised: "levels[0].expected.latencyMsP99",
  baselines: ["cg-mean"],
  foreignBaseline: "fa2",
  state: null,
  answered: ["second.y"],
  model: "echo",
};
