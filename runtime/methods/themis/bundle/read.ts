/** Reads a themis bundle from an unknown value: first the fields, then their consistency. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { themisBundle } from "./fields.ts";
import { checkThemisSemantics } from "./semantics.ts";

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readThemisBundle(value: unknown): ThemisBundle {
  const bundle = themisBundle.read(value, "");
  checkThemisSemantics(bundle);
  return bundle;
}
