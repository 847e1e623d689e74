/** A cascade of provisioned stages as an endpoint. */
import { outputsOf, servedStages } from "../../../runtime/server/graph/served-tasks.ts";
import { assignedWorkers, type ServedSubject } from "../served.ts";

export const inferlineServed: ServedSubject = {
  bundle: servedStages(),
  openWorkers: () => assignedWorkers(6, outputsOf),
  model: "stages",
  input: {
    name: "x",
    data: [
      [1, 0, 4],
      [0, 0, 5],
    ],
  },
  // A row may end at the gate, which takes 5 ms for one.
  leastUs: 5000,
  otherSlo: servedStages({ sloMs: 2000 }),
  otherLevels: servedStages({
    levels: [
      {
        loadQps: 1,
        stages: [
          [4, 1],
          [2, 1],
          [4, 1],
        ],
      },
    ],
  }),
  refusal: /cannot be replaced while it is served/,
};
