/** A pipeline of servers as an endpoint. */
import {
  AXIS_NAMES,
  LARGE_ONLY,
  servedPipeline,
} from "../../../runtime/server/graph/served-pipeline.ts";
import { assignedWorkers, type ServedSubject } from "../served.ts";

export const lokiServed: ServedSubject = {
  bundle: servedPipeline({ levels: LARGE_ONLY }),
  axisNames: AXIS_NAMES,
  openWorkers: () => assignedWorkers(6),
  model: "pipeline",
  input: {
    name: "x",
    data: [
      [3, 1],
      [0, 2],
    ],
  },
  // The fastest detector takes 10 ms for one row, the fastest classifier 4 ms.
  leastUs: 14_000,
  otherSlo: servedPipeline({ levels: LARGE_ONLY, sloMs: 2000 }),
  otherLevels: servedPipeline(),
  refusal: /cannot be replaced while it is served/,
};
