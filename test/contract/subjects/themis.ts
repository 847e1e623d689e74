/** Themis in the suite: cores and instances for the stages of a pipeline. */
import type { ThemisBundle } from "../../../runtime/bundle/schema.ts";
import { twoTasks } from "../application.ts";
import type { Subject } from "./subject.ts";

export const themis: Subject<ThemisBundle> = {
  method: "themis",
  compiled: {
    tasks: twoTasks(["small"]),
    policy: { method: "themis", maxBatch: 4, maxCores: 2 },
    cluster: { pools: [{ name: "cores", hardware: "test", workers: 4, cores: 2 }] },
    measured: {
      small: { accuracy: 0.7, fit: { gamma: 4, epsilon: 2, delta: 0.5, eta: 1 } },
    },
    promised: "levels[0].steady.expected.latencyMsP99",
    baselines: ["fa2", "sponge"],
    foreignBaseline: "proteus",
    hasStates: false,
    answered: ["second.y"],
    model: "echo",
    reread: /not followed, .*not exchanged while it is served/,
  },
};
