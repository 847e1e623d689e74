/** The public API: what reads a policy bundle. */
export type { BundleErrorCode } from "./bundle/bundle-error.ts";
export { BundleError } from "./bundle/bundle-error.ts";
export type * from "./bundle/schema.ts";
export type { RuntimeErrorCode } from "./errors.ts";
export { RuntimeError } from "./errors.ts";
export type { LoadedBundle, LoadOptions } from "./load-bundle.ts";
export { loadBundle } from "./load-bundle.ts";
