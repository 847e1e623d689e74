/** A bundle of provisioned stages that is changed at random. */

import type { InferlineBundle } from "../../../../runtime/bundle/schema.ts";
import { inferlineSample } from "../../../support/inferline-samples.ts";
import { checkStagesInRange, driveStages } from "../../../support/sound-stages.ts";
import { type BundleSubject, only } from "../bundles.ts";

/** The sample, whose pools say what they are on, and what their times and starts are from. */
function onDevices(bundle: InferlineBundle): InferlineBundle {
  const measuredOn = { provider: "cuda", name: "A100", driver: "550.54" } as const;
  const pools = bundle.cluster.pools.map((pool, index) => {
    return { ...pool, ...(index === 0 ? { device: "cuda:0,MIG-a/1/0" } : {}), measuredOn };
  });
  return {
    ...bundle,
    cluster: { ...bundle.cluster, pools },
    policy: { ...bundle.policy, startFrom: "profiles" },
  };
}

export const inferlineBundles: BundleSubject = {
  samples: [{ what: "provisioned stages", bundle: onDevices(inferlineSample()) }],
  checkSound: only("inferline", (bundle) => {
    checkStagesInRange(bundle);
    driveStages(bundle);
  }),
};
