import type { Bundle, RamsisBundle } from "../../runtime/bundle/schema.ts";

/** The bundle, which has to be one of tables. */
export function ramsisBundle(bundle: Bundle): RamsisBundle {
  if (bundle.method !== "ramsis") throw new TypeError(`expected tables, got ${bundle.method}`);
  return bundle;
}
