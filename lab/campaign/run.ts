/**
 * Attacks the product and prints what it survived: `npm run campaign -- [PART]... [--short]
 * [--size N] [--seed N|FIRST-LAST] [--format text|markdown]`. Several seeds are tried one after the
 * other, each with the whole size, and each says when it is over: so a run that was ended goes on
 * from the next seed. Ends with 3 where anything was lost.
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
  const seeds = seedsOf(flags.text("seed") ?? "1");
  for (const part of parts) {
    let [tried, lost] = [0, 0];
    const told: string[] = [];
    const startMs = performance.now();
    for (const seed of seeds) {
      const outcome = await runOne(part, seed);
      tried += outcome.tried;
      lost += outcome.lost.length;
      for (const one of outcome.lost.slice(0, TOLD)) console.error(`lost, ${part.name}: ${one}`);
      told.push(...Object.entries(outcome.figures).map(([name, value]) => `${name} ${value}`));
      if (seeds.length === 1) continue;
      console.error(`${part.name}: seed ${seed} is over, ${tried} tried and ${lost} lost by now`);
    }
    const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
    rows.push([part.name, tried, tried - lost, lost, minutes, told.join(", ")]);
    if (lost > 0) process.exitCode = EXIT_LOST;
  }
  page.table(["part", "tried", "survived", "lost", "minutes", "measured"], rows);
}

/** Such as 3, or 3-7. @throws RangeError */
function seedsOf(text: string): number[] {
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const count = Number(last) - Number(first) + 1;
  if (count > 0) return Array.from({ length: count }, (_, at) => Number(first) + at);
  throw new RangeError(`--seed: found ${text}, expected a number or FIRST-LAST`);
}

async function runOne({ name, sizes, run }: Part, seed: number): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), `campaign-${name}-`));
  const size = flags.number("size") ?? (short ? sizes.short : sizes.full);
  const say = (line: string) => console.error(`${name}: ${line}`);
  try {
    return await run({ size, seed, folder, say });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
