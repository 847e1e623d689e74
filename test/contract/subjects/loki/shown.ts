/** Plans of servers as people see them. */
import { lokiBundle } from "../../../support/loki-bundle.ts";
import { chainBundle } from "../../../support/loki-samples.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

const ONE = `one/${MARKUP}`;

export const lokiShown: ShownSubject = {
  bundle: chainBundle(),
  markedUp: lokiBundle({
    tasks: [{ name: "one", variants: [{ name: MARKUP, accuracy: 0.5, latencyMs: { 1: 10 } }] }],
    workers: [2, 3],
    levels: [
      {
        loadQps: 50,
        instances: [{ of: ONE, batch: 1, replicas: 1, pool: 1 }],
        paths: [{ along: [ONE], ratio: 1 }],
      },
    ],
  }),
  hasTables: false,
};
