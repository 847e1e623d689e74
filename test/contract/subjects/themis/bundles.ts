/** A bundle of cores and instances that is changed at random. */
import { allFinite } from "../../../support/all-finite.ts";
import { scaleSample } from "../../../support/scale-samples.ts";
import { checkScalesInRange, readScales } from "../../../support/sound-scales.ts";
import { type BundleSubject, only } from "../bundles.ts";

export const themisBundles: BundleSubject = {
  samples: [{ what: "cores and instances", bundle: scaleSample(), changes: 1200 }],
  checkSound: only("themis", (bundle) => {
    checkScalesInRange(bundle);
    if (!allFinite(readScales(bundle))) throw new Error("a number that is none");
  }),
};
