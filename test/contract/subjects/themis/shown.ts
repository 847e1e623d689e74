/** Cores and instances as people see them. */
import { scaleBundle } from "../../../support/scale-bundle.ts";
import { scaleSample } from "../../../support/scale-samples.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

export const themisShown: ShownSubject = {
  bundle: scaleSample(),
  markedUp: scaleBundle({
    tasks: [{ name: MARKUP, latencyMs: [[10]] }],
    policy: { maxBatch: 1, maxCores: 1 },
    levels: [{ loadQps: 5, steady: [[1, 1, 1]] }],
  }),
  hasTables: false,
};
