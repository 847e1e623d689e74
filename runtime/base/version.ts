/** Version of this package. */
import { createRequire } from "node:module";

/** Returns the version in package.json. */
export function packageVersion(): string {
  const require = createRequire(import.meta.url);
  return (require("stratagem-runtime/package.json") as { readonly version: string }).version;
}
