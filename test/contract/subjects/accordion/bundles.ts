/** A bundle of malleable pipelines that is changed at random. */

import { accordionBundle } from "../../../support/accordion-bundle.ts";
import { checkPlacesInRange, drivePlaces } from "../../../support/accordion-sound.ts";
import { allFinite } from "../../../support/all-finite.ts";
import { type BundleSubject, only } from "../bundles.ts";

/** Two pools, of which one is used in part; one model is served. */
const placeSample = accordionBundle({
  pools: [{ workers: 3 }, { workers: 2, speed: 0.5 }],
  maxDepth: 2,
  maxBatch: 3,
  policy: { executionPlaces: 4 },
  models: [
    { name: "deep", layerMs: [4, 6, 3, 7], hasModel: true },
    { name: "single", layerMs: [3] },
  ],
});

export const accordionBundles: BundleSubject = {
  samples: [{ what: "pipelines of layers", bundle: placeSample }],
  checkSound: only("accordion", (bundle) => {
    checkPlacesInRange(bundle);
    if (!allFinite(drivePlaces(bundle))) throw new Error("a number that is none");
  }),
};
