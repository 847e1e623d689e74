/** From an unknown value to a Bundle: structure field by field, then agreement between fields. Source: docs/bundle-format.md. */
import { accordionBundleOf } from "../methods/accordion/bundle/fields.ts";
import { checkAccordionSemantics } from "../methods/accordion/bundle/semantics.ts";
import { inferlineBundleOf } from "../methods/inferline/bundle/fields.ts";
import { checkInferlineSemantics } from "../methods/inferline/bundle/semantics.ts";
import { lokiBundleOf } from "../methods/loki/bundle/fields.ts";
import { checkLokiSemantics } from "../methods/loki/bundle/semantics.ts";
import { ramsisBundleOf } from "../methods/ramsis/bundle/fields.ts";
import { checkRamsisSemantics } from "../methods/ramsis/bundle/semantics.ts";
import { themisBundleOf } from "../methods/themis/bundle/fields.ts";
import { checkThemisSemantics } from "../methods/themis/bundle/semantics.ts";
import { oneOf } from "./fields.ts";
import type { Bundle } from "./schema.ts";

/**
 * Checks a value and everything in it, and returns it frozen (typed arrays apart, which cannot be). What it returns cannot make the runtime throw
 * or read out of range.
 *
 * @param value a Bundle in memory, or the decoded payload, where the data of a table is bytes.
 * @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS.
 */
export function validateBundle(value: unknown): Bundle {
  const { method } = (value ?? {}) as { method?: unknown };
  if (method === "loki") {
    const bundle = lokiBundleOf(value);
    checkLokiSemantics(bundle);
    return bundle;
  }
  if (method === "inferline") {
    const bundle = inferlineBundleOf(value);
    checkInferlineSemantics(bundle);
    return bundle;
  }
  if (method === "themis") {
    const bundle = themisBundleOf(value);
    checkThemisSemantics(bundle);
    return bundle;
  }
  if (method === "accordion") {
    const bundle = accordionBundleOf(value);
    checkAccordionSemantics(bundle);
    return bundle;
  }
  if (method !== undefined) {
    oneOf(method, "method", ["ramsis", "loki", "inferline", "themis", "accordion"]);
  }
  const bundle = ramsisBundleOf(value);
  checkRamsisSemantics(bundle);
  return bundle;
}
