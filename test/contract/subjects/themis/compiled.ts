/** Themis in the suite: cores and instances for the stages of a pipeline. */
import { twoTasks } from "../../application.ts";
import type { CompiledSubject } from "../../command-line.ts";

export const themisCompiled: CompiledSubject = {
  tasks: twoTasks(["small"]),
  policy: { method: "themis", maxBatch: 4, maxCores: 2 },
  cluster: { pools: [{ name: "cores", hardware: "test", workers: 4, cores: 2 }] },
  measured: {
    small: { accuracy: 0.7, fit: { gamma: 4, epsilon: 2, delta: 0.5, eta: 1 } },
  },
  promised: "levels[0].steady.expected.latencyMsP99",
  baselines: ["fa2"],
  foreignBaseline: "proteus",
  state: null,
  answered: ["second.y"],
  model: "echo",
};
