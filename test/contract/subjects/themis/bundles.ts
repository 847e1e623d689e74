/** A bundle of cores and instances that is changed at random. */
import { allFinite } from "../../../support/all-finite.ts";
import { themisSample } from "../../../support/themis-samples.ts";
import { checkScalesInRange, readScales } from "../../../support/themis-sound.ts";
import { type BundleSubject, only } from "../bundles.ts";

export const themisBundles: BundleSubject = {
  samples: [{ what: "cores and instances", bundle: themisSample() }],
  checkSound: only("themis", (bundle) => {
    checkScalesInRange(bundle);
    if (!allFinite(readScales(bundle))) throw new Error("a number that is none");
  }),
};
