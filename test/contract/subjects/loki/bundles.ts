/** A bundle of plans of servers that is changed at random. */
import { chainBundle } from "../../../support/loki-samples.ts";
import { checkServersInRange, driveServers } from "../../../support/sound-plans.ts";
import { type BundleSubject, only } from "../bundles.ts";

export const lokiBundles: BundleSubject = {
  samples: [{ what: "plans of servers", bundle: chainBundle() }],
  checkSound: only("loki", (bundle) => {
    checkServersInRange(bundle);
    driveServers(bundle);
  }),
};
