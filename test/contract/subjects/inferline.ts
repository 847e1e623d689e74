/** InferLine in the suite: replicas for the stages of a pipeline. */
import type { InferlineBundle } from "../../../runtime/bundle/schema.ts";
import { LATENCIES, twoTasks } from "../application.ts";
import type { Subject } from "./subject.ts";

export const inferline: Subject<InferlineBundle> = {
  method: "inferline",
  compiled: {
    tasks: twoTasks(["small"]),
    policy: { method: "inferline", sampleDuration: "5 s" },
    cluster: { pools: [{ name: "cores", hardware: "test", workers: 6, pricePerHour: 0.1 }] },
    measured: LATENCIES,
    promised: "levels[0].expected.latencyMsP99",
    baselines: ["cg-mean", "cg-peak"],
    foreignBaseline: "fa2",
    hasStates: false,
    answered: ["second.y"],
    model: "echo",
    reread: /not followed, .*not exchanged while it is served/,
  },
};
