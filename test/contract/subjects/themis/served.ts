/** A cascade of scaled stages as an endpoint. */
import { levelsAt, servedScales } from "../../../runtime/methods/themis/serve/served.ts";
import { outputsOf } from "../../../runtime/server/graph/served-tasks.ts";
import { assignedWorkers, type ServedSubject } from "../served.ts";

export const themisServed: ServedSubject = {
  bundle: servedScales(),
  openWorkers: () => assignedWorkers(4, outputsOf),
  model: "stages",
  input: {
    name: "x",
    data: [
      [1, 0, 4],
      [0, 0, 5],
    ],
  },
  // A row may end at the gate, which takes 3 / 4 + 1 / 4 + 1 ms on four cores.
  leastUs: 2000,
  otherSlo: servedScales({ sloMs: 2000 }),
  otherLevels: servedScales({ levels: levelsAt([1, 2, 3]) }),
  refusal: /cannot be replaced while it is served/,
};
