/** Reads an accordion bundle from an unknown value: first the fields, then their consistency. */
import type { AccordionBundle } from "../../../bundle/schema.ts";
import { accordionBundle } from "./fields.ts";
import { checkAccordionSemantics } from "./semantics.ts";

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readAccordionBundle(value: unknown): AccordionBundle {
  const bundle = accordionBundle.read(value, "");
  checkAccordionSemantics(bundle);
  return bundle;
}
