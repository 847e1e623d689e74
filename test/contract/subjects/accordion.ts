/** Accordion in the suite: pipelines of layers on execution places. */
import type { AccordionBundle } from "../../../runtime/bundle/schema.ts";
import { LAYERS } from "../application.ts";
import type { Subject } from "./subject.ts";

export const accordion: Subject<AccordionBundle> = {
  method: "accordion",
  compiled: {
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
    baselines: ["fastest", "one-stage"],
    foreignBaseline: "greedy",
    hasStates: false,
    answered: ["y"],
    model: "deep",
    reread: /not followed, .*not exchanged while it is served/,
  },
};
