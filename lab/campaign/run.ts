/**
 * Attacks the product and prints what it survived: `npm run campaign -- [PART]... [--short]
 * [--size N] [--seed N] [--format text|markdown]`. Ends with 3 where anything was lost.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Flags } from "../experiments/harness/flags.ts";
import { FORMATS, Page } from "../experiments/harness/page.ts";
import type { Outcome, Part } from "./part.ts";
import { PARTS } from "./parts.ts";

const EXIT_LOST = 3;
const EXIT_USAGE = 64;
/** Of what was lost, how many are told. */
const TOLD = 10;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    short: { type: "boolean" },
    list: { type: "boolean" },
    size: { type: "string", multiple: true },
    seed: { type: "string", multiple: true },
    format: { type: "string", multiple: true },
  },
});
const { short = false, list = false, ...given } = values;
const flags = new Flags(given);
const [format = "text"] = flags.among("format", FORMATS) ?? [];
const page = new Page(format);
const unknown = positionals.find((name) => PARTS.every((part) => part.name !== name));
if (unknown !== undefined) {
  const names = PARTS.map(({ name }) => name).join(", ");
  console.error(`found the part ${unknown}, expected one of ${names}`);
  process.exitCode = EXIT_USAGE;
} else if (list) tell(PARTS);
else {
  await attack(PARTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name)));
}

function tell(parts: readonly Part[]): void {
  page.table(
    ["part", "tries", "size", "short", "minutes"],
    parts.map(({ name, about, unit, sizes, minutes }) => [
      name,
      about,
      `${sizes.full} ${unit}`,
      sizes.short,
      minutes,
    ]),
  );
}

async function attack(parts: readonly Part[]): Promise<void> {
  const rows: (readonly (string | number)[])[] = [];
  for (const part of parts) {
    const startMs = performance.now();
    const { tried, lost, figures } = await runOne(part);
    const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
    const told = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
    rows.push([part.name, tried, tried - lost.length, lost.length, minutes, told.join(", ")]);
    for (const one of lost.slice(0, TOLD)) console.error(`lost, ${part.name}: ${one}`);
    if (lost.length > 0) process.exitCode = EXIT_LOST;
  }
  page.table(["part", "tried", "survived", "lost", "minutes", "measured"], rows);
}

async function runOne({ name, sizes, run }: Part): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), `campaign-${name}-`));
  const size = flags.number("size") ?? (short ? sizes.short : sizes.full);
  const say = (line: string) => console.error(`${name}: ${line}`);
  try {
    return await run({ size, seed: flags.number("seed") ?? 1, folder, say });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
