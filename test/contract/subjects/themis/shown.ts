/** Cores and instances as people see them. */
import { themisBundle } from "../../../support/themis-bundle.ts";
import { themisSample } from "../../../support/themis-samples.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

export const themisShown: ShownSubject = {
  bundle: themisSample(),
  markedUp: themisBundle({
    tasks: [{ name: MARKUP, latencyMs: [[10]] }],
    policy: { maxBatch: 1, maxCores: 1 },
    levels: [{ loadQps: 5, steady: [[1, 1, 1]] }],
  }),
  hasTables: false,
};
