import type { AccordionBundle } from "../../runtime/bundle/schema.ts";
import { type AccordionBundleSketch, accordionBundle } from "./accordion-bundle.ts";

/** Twelve equal layers of 10 ms. */
export const CHAIN = { name: "chain", layerMs: new Array<number>(12).fill(10) };

/**
 * Twelve equal layers in the paper's timing, to count in one's head with: an instance takes 120,
 * 60, 40 or 30 ms on 1 to 4 places, b of them b times as long. Changing places costs 5 ms. Nothing
 * is given up unless `policy` says so.
 */
export function chainPlaces(places: number, sketch: AccordionBundleSketch = {}): AccordionBundle {
  return accordionBundle({
    models: [CHAIN],
    places,
    timing: "paper",
    maxDepth: 4,
    sloMs: 1000,
    ...sketch,
    policy: { reconfigurationMs: 5, dropAfterSlos: null, ...sketch.policy },
  });
}
