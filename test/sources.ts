/**
 * Tests run what was built of the sources that they import: it is what ships, and Node runs it as
 * it is, where the test runner's own form of a module takes several times as long in hot loops.
 */
import { existsSync } from "node:fs";
import { dirname, relative, resolve, sep } from "node:path";

const ROOT = resolve(import.meta.dirname, "..");
const SOURCE = /^(runtime|compiler|kit)[\\/](?!dist[\\/])(.+)\.ts$/;

/** What the runner leaves to Node. */
export const LEFT_TO_NODE = [/[\\/](runtime|compiler|kit)[\\/]dist[\\/]/];

/** Of a vitest configuration: `test/build.ts` has built before any file is looked for. */
export const builtOfSources = {
  name: "built-of-sources",
  enforce: "pre" as const,
  resolveId(source: string, importer: string | undefined): string | null {
    if (importer === undefined || !source.startsWith(".")) return null;
    const path = relative(ROOT, resolve(dirname(importer), source));
    const [, room, file] = SOURCE.exec(path) ?? [];
    if (room === undefined || file === undefined) return null;
    const built = [ROOT, room, "dist", `${file}.js`].join(sep);
    return existsSync(built) ? built : null;
  },
};
