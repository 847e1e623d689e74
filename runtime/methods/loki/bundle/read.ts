/** Reads a loki bundle from an unknown value: first the fields, then their consistency. */
import type { LokiBundle } from "../../../bundle/schema.ts";
import { lokiBundle } from "./fields.ts";
import { checkLokiSemantics } from "./semantics.ts";

/** Same as `validateBundle`. @throws BundleError BUNDLE_SCHEMA or BUNDLE_SEMANTICS. */
export function readLokiBundle(value: unknown): LokiBundle {
  const bundle = lokiBundle.read(value, "");
  checkLokiSemantics(bundle);
  return bundle;
}
