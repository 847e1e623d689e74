/** Reads the version of this package. */
import { readFileSync } from "node:fs";

/** Version of this package, as its package.json says; two folders up from the built file. */
export function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(text) as { version: string };
  return version;
}
