/** Malleable pipelines as people see them. */
import { accordionBundle } from "../../../support/accordion-bundle.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

const expected = { queries: 200, durationMs: 10_000 };

export const accordionShown: ShownSubject = {
  bundle: accordionBundle({
    levels: [
      { loadQps: 10, expected },
      { loadQps: 40, expected },
    ],
  }),
  markedUp: accordionBundle({
    models: [{ name: MARKUP, layerMs: [10] }],
    places: 1,
    maxDepth: 1,
    maxBatch: 1,
    levels: [{ loadQps: 5, expected }],
  }),
  hasTables: false,
};
