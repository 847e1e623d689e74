/** From an unknown value to a Bundle: structure field by field, then agreement between fields. Source: docs/bundle-format.md. */
import { accordionBundleOf } from "./accordion-fields.ts";
import { checkAccordionSemantics } from "./accordion-semantics.ts";
import { oneOf } from "./fields.ts";
import { inferlineBundleOf } from "./inferline-fields.ts";
import { checkInferlineSemantics } from "./inferline-semantics.ts";
import { lokiBundleOf } from "./loki-fields.ts";
import { checkLokiSemantics } from "./loki-semantics.ts";
import { ramsisBundleOf } from "./ramsis-fields.ts";
import { checkRamsisSemantics } from "./ramsis-semantics.ts";
import type { Bundle } from "./schema.ts";
import { themisBundleOf } from "./themis-fields.ts";
import { checkThemisSemantics } from "./themis-semantics.ts";

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
