/** Reads the version of this package. */
import { createRequire } from "node:module";

/** The version of this package, as its package.json says. */
export function packageVersion(): string {
  const require = createRequire(import.meta.url);
  return (require("stratagem-runtime/package.json") as { readonly version: string }).version;
}
