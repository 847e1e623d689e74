/** The process of one section, which a driver that crashes or hangs ends alone: NAME SETTINGS. */
import { writeSync } from "node:fs";
import type { Teller, Told } from "./section.ts";
import { SECTIONS } from "./sections.ts";
import type { Settings } from "./settings.ts";

const STDOUT = 1;
const [, , name, settings = "{}"] = process.argv;
const section = SECTIONS.find((each) => each.name === name);
if (section === undefined) throw new RangeError(`found the section ${name}, which there is not`);

// Written at once: what was told stays told however this process ends.
const say = (told: Told) => writeSync(STDOUT, `${JSON.stringify(told)}\n`);
const tell: Teller = {
  columns: (...names) => say({ kind: "columns", names }),
  row: (cells, isKept) => say({ kind: "row", cells: cells.map(String), isKept: isKept ?? null }),
  note: (text) => say({ kind: "note", text }),
};
try {
  await section.run(JSON.parse(settings) as Settings, tell);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
process.exit(0);
