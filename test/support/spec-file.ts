import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "stratagem-spec-"));
let count = 0;

/** Writes a spec and the files beside it as JSON. @returns path of the spec. */
export function writeSpec(spec: unknown, beside: Readonly<Record<string, unknown>>): string {
  for (const [name, content] of Object.entries(beside)) {
    writeFileSync(join(folder, name), JSON.stringify(content));
  }
  const path = join(folder, `app-${count++}.json`);
  writeFileSync(path, JSON.stringify(spec));
  return path;
}
