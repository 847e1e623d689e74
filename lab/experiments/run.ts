/**
 * Prints the figures of a page of docs/experiments: `npm run experiment -- METHOD [NAME]...
 * [OPTION]...`; without a method, what there is.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import type { Experiment } from "./harness/experiment.ts";
import { Flags } from "./harness/flags.ts";
import { FORMATS, Page } from "./harness/page.ts";
import { METHODS } from "./methods.ts";

const COMMON = {
  format: "text (what is left out) or markdown",
  jobs: "experiments that run at a time, each in a process of its own; 1",
};
const EXIT_USAGE = 64;

const [method = "", ...rest] = process.argv.slice(2);
const all = METHODS[method];
if (method === "" || method === "--help") list();
else if (all === undefined) refuse(`found the method ${method}`, Object.keys(METHODS));
else if (rest.includes("--help")) {
  const named = all.filter(({ name }) => rest.includes(name));
  list({ [method]: named.length > 0 ? named : all });
} else await runSome(all, rest);

async function runSome(known: readonly Experiment[], args: readonly string[]): Promise<void> {
  const end = args.findIndex((arg) => arg.startsWith("--"));
  const names = end < 0 ? args : args.slice(0, end);
  const unknown = names.find((name) => known.every((one) => one.name !== name));
  if (unknown !== undefined) {
    refuse(
      `found the experiment ${unknown}`,
      known.map(({ name }) => name),
    );
    return;
  }
  const chosen = known.filter(({ name, isExtra }) =>
    names.length === 0 ? isExtra !== true : names.includes(name),
  );
  const options = args.slice(names.length);
  const flags = flagsOf(chosen, options);
  const jobs = flags.number("jobs") ?? 1;
  if (jobs > 1 && chosen.length > 1) return inProcesses(chosen, options, jobs);
  const [format = "text"] = flags.among("format", FORMATS) ?? [];
  const page = new Page(format);
  for (const experiment of chosen) await runOne(experiment, page, flags);
}

async function runOne({ name, run }: Experiment, page: Page, flags: Flags): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), `experiment-${name}-`));
  try {
    await run({ page, flags, folder });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @throws TypeError for an option that none of the experiments has. */
function flagsOf(chosen: readonly Experiment[], args: readonly string[]): Flags {
  const known = Object.keys(Object.assign({}, COMMON, ...chosen.map((one) => one.options ?? {})));
  const options = Object.fromEntries(
    known.map((name) => [name, { type: "string", multiple: true } as const]),
  );
  return new Flags(parseArgs({ args: [...args], options }).values);
}

/** Every experiment in a process of its own, some at a time, told in their order. */
async function inProcesses(
  chosen: readonly Experiment[],
  options: readonly string[],
  jobs: number,
): Promise<void> {
  const left = [...chosen];
  const told = new Map<Experiment, string>();
  const [, script = ""] = process.argv;
  const own = options.filter((_, at) => options[at] !== "--jobs" && options[at - 1] !== "--jobs");
  const work = async () => {
    for (let one = left.shift(); one !== undefined; one = left.shift()) {
      const args = [script, method, one.name, ...own.filter((arg) => !arg.startsWith("--jobs="))];
      const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e9 });
      told.set(one, stdout);
    }
  };
  await Promise.all(Array.from({ length: jobs }, work));
  for (const one of chosen) process.stdout.write(told.get(one) ?? "");
}

function list(methods = METHODS): void {
  const page = new Page("text");
  page.say("npm run experiment -- METHOD [NAME]... [OPTION]...\n");
  page.say("Without a name all run but those in brackets. Every experiment takes:");
  for (const [name, what] of Object.entries(COMMON)) page.say(`  --${name}: ${what}`);
  for (const [name, experiments] of Object.entries(methods)) {
    page.say(`\n${name}`);
    const users = new Map<string, string[]>();
    for (const { name: own, about, takes, options = {}, isExtra } of experiments) {
      page.say(`  ${isExtra === true ? `(${own})` : own}: ${about}; ${takes}`);
      for (const [option, what] of Object.entries(options)) {
        const text = `--${option}: ${what}`;
        users.set(text, [...(users.get(text) ?? []), own]);
      }
    }
    for (const [text, names] of users) page.say(`    ${text} (${names.join(", ")})`);
  }
}

function refuse(found: string, allowed: readonly string[]): void {
  console.error(`${found}, expected one of ${allowed.join(", ")}`);
  process.exitCode = EXIT_USAGE;
}
