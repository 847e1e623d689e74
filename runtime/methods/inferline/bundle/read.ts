/** Reads an inferline bundle from an unknown value: first the fields, then their consistency. */
import type { InferlineBundle } from "../../../bundle/schema.ts";
import { inferlineBundle } from "./fields.ts";
import { checkInferlineSemantics } from "./semantics.ts";

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readInferlineBundle(value: unknown): InferlineBundle {
  const bundle = inferlineBundle.read(value, "");
  checkInferlineSemantics(bundle);
  return bundle;
}
