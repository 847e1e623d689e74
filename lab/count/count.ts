/** `npm run count`: sizes of the tree beside their goals. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { alignColumns } from "stratagem-runtime/internal/describe/text";
import { executedByCommand, executedByRequest } from "./executed.ts";
import { type CommandOptions, commandOptions } from "./options.ts";
import {
  byFolder,
  circles,
  FEATURES,
  lineCount,
  outside,
  slivers,
  sourcesIn,
  trackedFiles,
  undefinedLines,
} from "./tree.ts";

const BUNDLE = "policies/letters/bundle.msgpack";
const MODELS = "models/image-classification";
const CLI = "compiler/dist/cli.js";
const RUNTIME_CLI = "runtime/dist/cli.js";
/** Reference pages, made from tables in the code. */
const GENERATED_PAGES = ["app-spec", "bundle-format", "metrics", "settings", "errors"];

type Row = readonly [what: string, now: string, goal: string];

/** Each measure, what it is now, and its goal. */
async function rows(): Promise<Row[]> {
  const product = sourcesIn("runtime", "compiler");
  const all = [...product, ...sourcesIn("kit")];
  const server = sourcesIn("runtime");
  const folders = byFolder(all);
  const sizes = [...folders].map(([folder, files]) => [folder, files.length] as const);
  const [largest, most] = sizes.sort((a, b) => b[1] - a[1])[0] ?? ["", 0];
  const pages = trackedFiles("docs", "*.md").filter((path) => path.endsWith(".md"));
  const written = pages.filter(
    (path) => !GENERATED_PAGES.some((page) => path === `docs/${page}.md`),
  );
  const words = (paths: readonly string[]) =>
    paths.reduce((sum, path) => sum + wordCount(readFileSync(path, "utf8")), 0);
  const commands = commandOptions(CLI);
  const folder = mkdtempSync(join(tmpdir(), "stratagem-count-"));
  const compile = ["compile", "policies/letters/app.yaml", "-o", join(folder, "letters.msgpack")];
  const compiled = executedByCommand(CLI, compile);
  rmSync(folder, { recursive: true });
  const request = await executedByRequest(BUNDLE, MODELS);
  return [
    ["product lines (runtime and compiler)", text(lineCount(product)), "140000"],
    ["test lines", text(lineCount(sourcesIn("test"))), "92000"],
    ["words of docs, without generated reference", text(words(written)), "60000"],
    ["words of generated reference", text(words(pages) - words(written)), ""],
    ["files that a JSON request executes", text(request.length), "50"],
    ["files that compile letters executes", text(compiled.length), "70"],
    ["files at the root of runtime/", text(folders.get("runtime")?.length ?? 0), "3"],
    ["files at the root of compiler/", text(folders.get("compiler")?.length ?? 0), "3"],
    ["rooms on an import circle", text(circles(all).flat().length), "0"],
    [`files of the largest folder (${largest})`, text(most), "25"],
    ["lines that compare with undefined", text(undefinedLines(product)), "900"],
    ...FEATURES.map(([name, pattern, own]): Row => {
      return [
        `files of the server that name ${name} elsewhere`,
        text(outside(server, pattern, own).length),
        "3",
      ];
    }),
    ["commands", text(commands.length), "22"],
    ["options of all commands", text(sum(commands)), "180"],
    ["most options of a command but serve", text(mostOf(commands)), "20"],
    ["settings of serve", text(optionsOf(commands, "serve")), "45"],
    ["metric names", text(metricNames()), "80"],
    ["files of one importer, 25 lines at most", text(slivers(all).length), "15"],
    ["commands of stratagem-runtime", text(commandOptions(RUNTIME_CLI).length), ""],
  ];
}

function sum(commands: readonly CommandOptions[]): number {
  return commands.reduce((total, { options }) => total + options.length, 0);
}

function mostOf(commands: readonly CommandOptions[]): number {
  const others = commands.filter(({ name }) => name !== "serve");
  return Math.max(...others.map(({ options }) => options.length));
}

function optionsOf(commands: readonly CommandOptions[], name: string): number {
  return commands.find((command) => command.name === name)?.options.length ?? 0;
}

/** Names in the list of metrics, which is made from what servers write. */
function metricNames(): number {
  const page = readFileSync("docs/metrics.md", "utf8");
  const names = page.matchAll(/^- `((?:stratagem|nv)_[a-z0-9_]+)`/gm);
  return new Set(Array.from(names, ([, name]) => name)).size;
}

function wordCount(page: string): number {
  return page.split(/\s+/).filter((word) => word !== "").length;
}

function text(value: number): string {
  return String(value);
}

const built = spawnSync("git", ["rev-parse", "--show-toplevel"], { encoding: "utf8" });
process.chdir(built.stdout.trim());
process.stdout.write(`${alignColumns([["measure", "now", "goal"], ...(await rows())])}\n`);
