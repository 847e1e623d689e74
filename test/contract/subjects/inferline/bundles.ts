/** A bundle of provisioned stages that is changed at random. */
import { checkStagesInRange, driveStages } from "../../../support/sound-stages.ts";
import { stageSample } from "../../../support/stage-samples.ts";
import { type BundleSubject, only } from "../bundles.ts";

export const inferlineBundles: BundleSubject = {
  samples: [{ what: "provisioned stages", bundle: stageSample(), changes: 1200 }],
  checkSound: only("inferline", (bundle) => {
    checkStagesInRange(bundle);
    driveStages(bundle);
  }),
};
