/** Accordion in the suite: pipelines of layers on execution places. */
import { LAYERS } from "../../application.ts";
import type { CompiledSubject } from "../../command-line.ts";

export const accordionCompiled: CompiledSubject = {
  tasks: [
    {
      name: "classify",
      variants: [{ name: "deep", profile: "profile.json#deep", model: "echo.onnx" }],
    },
  ],
  policy: { method: "accordion", maxDepth: 2, maxBatch: 4, meanBatch: 2 },
  cluster: { workers: 3 },
  measured: {
    deep: {
      accuracy: 0.9,
      layers: { ms: new Array<number>(LAYERS).fill(3), overheadMs: 1, stages: {} },
    },
  },
  promised: "levels[0].expected.latencyMsP99",
  baselines: ["fastest"],
  foreignBaseline: "greedy",
  state: "batch=2,free=1,slack=100ms",
  answered: ["y"],
  model: "deep",
};
