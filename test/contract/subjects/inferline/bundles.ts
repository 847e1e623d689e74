/** A bundle of provisioned stages that is changed at random. */

import { inferlineSample } from "../../../support/inferline-samples.ts";
import { checkStagesInRange, driveStages } from "../../../support/sound-stages.ts";
import { type BundleSubject, only } from "../bundles.ts";

export const inferlineBundles: BundleSubject = {
  samples: [{ what: "provisioned stages", bundle: inferlineSample() }],
  checkSound: only("inferline", (bundle) => {
    checkStagesInRange(bundle);
    driveStages(bundle);
  }),
};
