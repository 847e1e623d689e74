/** From an unknown value to a bundle of themis: each field, then their agreement. */
import type { ThemisBundle } from "../../../bundle/schema.ts";
import { themisBundle } from "./fields.ts";
import { checkThemisSemantics } from "./semantics.ts";

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readThemisBundle(value: unknown): ThemisBundle {
  const bundle = themisBundle.read(value, "");
  checkThemisSemantics(bundle);
  return bundle;
}
