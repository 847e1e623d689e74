/** Whether what is started is what the sources say: a run on an old build tells nothing. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { CLI } from "../harness/cli.ts";

const SOURCES = ["runtime", "compiler"];
const LEFT_OUT = new Set(["dist", "node_modules", "client"]);

/** @throws Error that names a source which was changed after the last build. */
export function requireFreshBuild(): void {
  const builtMs = statSync(CLI).mtimeMs;
  for (const folder of SOURCES) {
    const newer = newerIn(folder, builtMs);
    if (newer === undefined) continue;
    throw new Error(`${CLI}: expected a build of ${newer}, found an older one; npm run build`);
  }
}

function newerIn(folder: string, sinceMs: number): string | undefined {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) {
      const found = newerIn(path, sinceMs);
      if (found !== undefined) return found;
    }
    if (entry.isFile() && /\.ts$/.test(path) && statSync(path).mtimeMs > sinceMs) return path;
  }
  return undefined;
}
