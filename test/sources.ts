/**
 * Tests read the packages of this repository as their sources. By aliases and not by the condition
 * "source", which would hold for a whole process: `test/support/cli-here.ts` runs what was built.
 */
import { resolve } from "node:path";

const runtime = resolve(import.meta.dirname, "../runtime");
const compiler = resolve(import.meta.dirname, "../compiler");

export const SOURCES = [
  { find: /^stratagem-runtime\/internal\/(.+)$/, replacement: `${runtime}/$1.ts` },
  { find: /^stratagem-runtime$/, replacement: `${runtime}/index.ts` },
  { find: /^stratagem\/internal\/(.+)$/, replacement: `${compiler}/$1.ts` },
];
