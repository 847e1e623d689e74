/**
 * The commands of README, of the users' pages and of the methods' do what these say, in a copy of
 * the examples.
 */
import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { stratagemHere, stratagemHereIn } from "../support/cli-here.ts";
import { type CliRun, startStratagem, stratagemIn } from "../support/run-cli.ts";
import { type Fence, readMarkdown } from "./markdown.ts";

/** What a reader has and this repository does not: below, a model takes its place. */
const NOT_HERE = "yours are not here";
/** Why a fence is not run, and the commands that each reason excuses. */
const REASONS: Readonly<Record<string, readonly string[]>> = {
  "measures this machine": ["profile", "truth"],
  "npm test compiles it": ["compile"],
  "serves until stopped": ["serve", "worker", "scaler"],
  "needs a server": ["bench", "capacity", "compile", "curl", "explain", "inspect"],
  "needs a registry": ["push", "pull"],
  "takes longer": ["compile", "merge", "simulate", "report"],
  [NOT_HERE]: ["init", "profile", "compile", "serve", "sign", "verify"],
};
/**
 * Commands that are quick enough to run; all but compile and report with files that are committed.
 */
const QUICK = [
  ...["compile", "inspect", "verify", "gate", "simulate", "capacity", "report", "keygen"],
  "manifests",
];
/** What a page may show beside `npx stratagem`; these lines are not run. */
const OTHER = /^(npm|node|curl) /;
/** Options that name a file or folder which exists before the command runs. */
const INPUT_OPTIONS = ["--policy", "--models", "--simulation", "--trace", "--inputs", "--labels"];

const USERS = ["start", "models", "compile", "operate", "many-machines", "ship", "protocol"];
const pages = [
  ...USERS.map((page) => `docs/${page}.md`),
  ...readdirSync("docs/methods").map((page) => `docs/methods/${page}`),
];
const folder = mkdtempSync(join(tmpdir(), "stratagem-docs-"));
afterAll(() => rmSync(folder, { recursive: true }));
const helpOf = new Map<string, string>();
/** Commands that were run; they read the same files on every page, so once is enough. */
const ran = new Map<string, CliRun>();

describe.each(["README.md", ...pages])("the commands of %s", (page) => {
  // README's are processes, as its readers start them.
  const run = page === "README.md" ? stratagemIn : stratagemHereIn;
  const home = join(folder, page.replaceAll("/", "-"));
  mkdirSync(home);
  cpSync("policies", join(home, "policies"), { recursive: true });
  for (const data of ["models", "profiles"]) symlinkSync(resolve(data), join(home, data));

  for (const fence of readMarkdown(page).fences.filter(({ language }) => language === "sh")) {
    const reasons = reasonsOf(fence);
    const lines = commandLines(fence);
    test(`of the fence in line ${fence.line} are of a known kind`, () => {
      const verbs = lines.map((line) => verbOf(fence, line));
      for (const reason of reasons) {
        const excused = REASONS[reason];
        if (excused === undefined) throw new Error(`${where(fence)}: unknown mark "${reason}"`);
        expect(verbs, `${where(fence)} is marked "${reason}"`).toEqual(
          expect.arrayContaining([expect.toBeOneOf([...excused])]),
        );
      }
    });
    for (const line of lines.filter((text) => text.startsWith("npx stratagem "))) {
      const words = line.split(/\s+/).slice(2);
      const verb = words[0] ?? "";
      const excused = reasons.some((reason) => REASONS[reason]?.includes(verb));
      if (excused)
        test(`${line} (not run) has known options and files`, async () => {
          await expectKnown(reasons.includes(NOT_HERE) ? null : home, words);
          if (!reasons.includes(NOT_HERE)) standIn(home, words);
        });
      else
        test(line, async () => {
          expect(QUICK, `${where(fence)} needs a mark`).toContain(verb);
          const { status, stderr } = ran.get(line) ?? (await run(home, ...words));
          if (!words.includes("-o")) ran.set(line, { status, stdout: "", stderr });
          expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
        });
    }
  }
});

test("README's commands for one's own model, and the request that init tells, answer", async () => {
  const fences = readMarkdown("README.md").fences;
  const own = fences.find(({ mark }) => mark === `not run: ${NOT_HERE}`);
  const home = join(folder, "own");
  mkdirSync(home);
  cpSync("models/image-classification/cnn-xs.onnx", join(home, "model.onnx"));
  const [init = "", ...next] = own === undefined ? [] : commandLines(own);
  const { status, stdout } = await stratagemHereIn(home, ...init.split(" ").slice(2));
  expect(status).toBe(0);
  const [profile, compile, serve, request = ""] = stdout.split("\n").slice(2);
  expect(next).toEqual([profile, compile, serve]);
  writeFileSync(join(home, "app-profile.json"), JSON.stringify(MEASURED));
  const compiled = await stratagemHereIn(home, ...(compile ?? "").split(" ").slice(2));
  expect(compiled).toMatchObject({ status: 0, stderr: "" });
  const server = startStratagem(
    ...["serve", "--policy", join(home, "app.msgpack"), "--models", home],
    ...["--json", "--standby", "0", "--http", "127.0.0.1:0"],
  );
  const ended = once(server, "exit");
  try {
    const { url } = await servedAt(server);
    const [, expression = "", path] =
      /^node -p '([^']+)' \| curl -s http:\/\/127\.0\.0\.1:8000(\S+) -d @-/.exec(request) ?? [];
    const body = execFileSync(process.execPath, ["-p", expression], { encoding: "utf8" });
    const answer = await fetch(`${url}${path}`, { method: "POST", body });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({
      model_name: "model",
      outputs: [{ name: "logits", shape: [1, 20] }],
    });
  } finally {
    server.kill("SIGTERM");
    await ended;
  }
});

/** What `profile` would have measured. */
const MEASURED = {
  format: "latency-profile/1",
  hardware: "test",
  variants: { model: { accuracy: 0.9, latencyMs: { 1: 1, 2: 1.5, 4: 2.5 } } },
};

function where(fence: Fence): string {
  return `${fence.file}:${fence.line}`;
}

/**
 * The reasons of a fence's mark, none if it has no mark.
 * @throws Error if the mark is no "not run: …".
 */
function reasonsOf(fence: Fence): string[] {
  if (fence.mark === undefined) return [];
  const reasons = /^not run: (.+)$/.exec(fence.mark)?.[1];
  if (reasons === undefined) throw new Error(`${where(fence)}: unknown mark "${fence.mark}"`);
  return reasons.split(", ");
}

/** The commands of a fence, without comments; an indented line goes on with the one before. */
function commandLines(fence: Fence): string[] {
  const bare = fence.lines.map((line) => line.replace(/(^|\s+)#\s.*$/, "")).join("\n");
  return bare
    .replace(/\s*\\?\n\s+(?=\S)/g, " ")
    .split("\n")
    .filter((line) => line !== "");
}

/**
 * What a line runs: the verb of `npx stratagem`, or the program.
 * @throws Error if it is neither known.
 */
function verbOf(fence: Fence, line: string): string {
  const verb = /^npx stratagem ([a-z]+)/.exec(line)?.[1];
  if (verb !== undefined) return verb;
  if (!OTHER.test(line)) throw new Error(`${where(fence)}: unknown kind of command "${line}"`);
  return line.includes("curl ") ? "curl" : (line.split(" ")[0] ?? "");
}

/** What a server says of itself once it serves. */
async function servedAt(server: ChildProcess): Promise<{ url: string }> {
  let said = "";
  for await (const chunk of server.stdout ?? []) {
    said += chunk;
    if (said.endsWith("}\n")) return JSON.parse(said);
  }
  throw new Error(`the server ended before it served: ${said}`);
}

/**
 * Expects the options of a command that is not run to be in its help, and its files to exist.
 * @param home null where its files are the reader's.
 */
async function expectKnown(home: string | null, words: readonly string[]): Promise<void> {
  const verb = words[0] ?? "";
  const help = helpOf.get(verb) ?? (await stratagemHere(verb, "--help")).stdout;
  helpOf.set(verb, help);
  expect(help).toContain(`stratagem ${verb} `);
  words.forEach((word, at) => {
    if (word.startsWith("-")) expect(help.split(/[\s,]+/)).toContain(word);
    if (home === null) return;
    const isInput = INPUT_OPTIONS.includes(words[at - 1] ?? "") || word.startsWith("policies/");
    // Sources are URLs, and the labels of a site no file.
    if (isInput && !/:\/\/|=/.test(word)) expect(existsSync(join(home, word)), word).toBe(true);
  });
}

/** Puts the committed bundle where a compile that is not run would have written the same bytes. */
function standIn(home: string, words: readonly string[]): void {
  const app = words.find((word) => word.endsWith("app.yaml"));
  const out = words[words.indexOf("-o") + 1];
  if (words[0] !== "compile" || app === undefined || out === undefined) return;
  cpSync(join(home, dirname(app), "bundle.msgpack"), join(home, out));
}
