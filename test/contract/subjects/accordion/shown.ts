/** Malleable pipelines as people see them. */
import { placeBundle } from "../../../support/place-bundle.ts";
import { MARKUP, type ShownSubject } from "../shown.ts";

const expected = { queries: 200, durationMs: 10_000 };

export const accordionShown: ShownSubject = {
  bundle: placeBundle({
    levels: [
      { loadQps: 10, expected },
      { loadQps: 40, expected },
    ],
  }),
  markedUp: placeBundle({
    models: [{ name: MARKUP, layerMs: [10] }],
    places: 1,
    maxDepth: 1,
    maxBatch: 1,
    levels: [{ loadQps: 5, expected }],
  }),
  hasTables: false,
};
