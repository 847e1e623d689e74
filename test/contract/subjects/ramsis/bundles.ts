/** Bundles of tables that are changed at random: of one queue per worker, classes, and buckets. */
import { bucketBundle } from "../../../support/bucket-bundle.ts";
import { classBundle } from "../../../support/class-bundle.ts";
import { sampleBundle } from "../../../support/sample-bundle.ts";
import { checkTablesInRange, driveClasses, driveLookups } from "../../../support/sound-tables.ts";
import { type BundleSubject, only } from "../bundles.ts";

export const ramsisBundles: BundleSubject = {
  samples: [
    { what: "tables", bundle: sampleBundle() },
    { what: "tables of buckets", bundle: bucketBundle() },
    { what: "tables of classes", bundle: classBundle({ split: [1, 1] }) },
  ],
  checkSound: only("ramsis", (bundle) => {
    if (bundle.buckets !== undefined || bundle.slo.classes !== undefined) driveClasses(bundle);
    else {
      checkTablesInRange(bundle);
      driveLookups(bundle);
    }
  }),
};
