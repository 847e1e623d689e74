/** Published tables, profiles and traces, which stay outside the repository. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";

/** A file of the reference data. @throws Error if STRATAGEM_REFERENCE names no folder. */
export function referencePath(file: string): string {
  const folder = process.env["STRATAGEM_REFERENCE"];
  if (folder === undefined || folder === "") {
    throw new Error("STRATAGEM_REFERENCE: expected the folder of the reference data, found none");
  }
  return join(folder, file);
}

/** A JSON document of the reference data, which is as the caller says. */
export function readReference<T>(file: string): T {
  return JSON.parse(readFileSync(referencePath(file), "utf8")) as T;
}

/** Twitter's requests of each second, two weeks of August 2021. */
export function twitterCounts(): number[] {
  const file = referencePath("traces/twitter-2021-08-counts-per-second.txt.gz");
  return gunzipSync(readFileSync(file)).toString().trim().split("\n").map(Number);
}

/** Has the script of the reference write a spec. @returns its path, `out`/app.yaml. */
export function writeReferenceApp(kind: string, out: string, args: readonly unknown[]): string {
  const script = [referencePath("apps.mjs"), kind, ...args, "--out", out];
  execFileSync(process.execPath, script.map(String));
  return join(out, "app.yaml");
}
