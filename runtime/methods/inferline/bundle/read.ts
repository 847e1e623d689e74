/** From an unknown value to a bundle of inferline: each field, then their agreement. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { inferlineBundle } from "./fields.ts";
import { checkInferlineSemantics } from "./semantics.ts";

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readInferlineBundle(value: unknown): InferlineBundle {
  const bundle = inferlineBundle.read(value, "");
  checkInferlineSemantics(bundle);
  return bundle;
}
