/** From an unknown value to a bundle of accordion: each field, then their agreement. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { accordionBundle } from "./fields.ts";
import { checkAccordionSemantics } from "./semantics.ts";

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readAccordionBundle(value: unknown): AccordionBundle {
  const bundle = accordionBundle.read(value, "");
  checkAccordionSemantics(bundle);
  return bundle;
}
