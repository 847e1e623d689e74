/** Reads a ramsis bundle from an unknown value: first the fields, then their consistency. */
import type { RamsisBundle } from "../../../bundle/schema.ts";
import { ramsisBundle } from "./fields.ts";
import { checkRamsisSemantics } from "./semantics.ts";

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readRamsisBundle(value: unknown): RamsisBundle {
  const bundle = ramsisBundle.read(value, "");
  checkRamsisSemantics(bundle);
  return bundle;
}
