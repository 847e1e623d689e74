/** From an unknown value to a bundle of loki: each field, then their agreement. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { lokiBundle } from "./fields.ts";
import { checkLokiSemantics } from "./semantics.ts";

/** As `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readLokiBundle(value: unknown): LokiBundle {
  const bundle = lokiBundle.read(value, "");
  checkLokiSemantics(bundle);
  return bundle;
}
