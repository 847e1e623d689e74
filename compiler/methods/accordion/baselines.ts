/**
 * Baselines of malleable pipelines: the same table under schedulers whose queries keep their
 * initial places.
 */

import { RuntimeError } from "stratagem-runtime/internal/base/errors";
import type { AccordionBundle } from "stratagem-runtime/internal/bundle/schema";

/** Schedulers, in the order of the help. Source: Accordion §4.2. */
export const ACCORDION_BASELINES = ["slo-conforming", "fastest", "bbs", "one-stage"] as const;

/**
 * Returns the bundle under the scheduler of a baseline.
 * @throws RuntimeError for a name not in `ACCORDION_BASELINES`.
 */
export function accordionBaseline(bundle: AccordionBundle, name: string): AccordionBundle {
  const scheduler = ACCORDION_BASELINES.find((one) => one === name);
  if (scheduler === undefined) {
    throw new RuntimeError(
      "RUNTIME_USAGE",
      `--baseline ${name} is not for a bundle of method accordion; ` +
        `expected one of ${ACCORDION_BASELINES.join(", ")}`,
    );
  }
  return { ...bundle, policy: { ...bundle.policy, scheduler } };
}
