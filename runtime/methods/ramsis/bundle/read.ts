/** From an unknown value to a bundle of ramsis: each field, then their agreement. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { ramsisBundle } from "./fields.ts";
import { checkRamsisSemantics } from "./semantics.ts";

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readRamsisBundle(value: unknown): RamsisBundle {
  const bundle = ramsisBundle.read(value, "");
  checkRamsisSemantics(bundle);
  return bundle;
}
