/**
 * Builds the runtime as it was at the commit of each edition of the bundle format, has it read the
 * files of all editions, and tells who reads what.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { linkModules } from "./clean-build.ts";
import { type FormatEdition, pathOf, readEditions } from "./formats.ts";

export interface Reading {
  /** The edition that the runtime knows; that of the working tree is null. */
  readonly runtime: string | null;
  readonly edition: string;
  readonly file: string;
  /** Null where it was read, else what the runtime said. */
  readonly refusal: string | null;
}

const OPTIONS = {
  target: "es2023",
  lib: ["es2023"],
  types: ["node"],
  module: "nodenext",
  moduleDetection: "force",
  customConditions: ["source"],
  allowImportingTsExtensions: true,
  rewriteRelativeImportExtensions: true,
  skipLibCheck: true,
  noCheck: true,
  rootDir: "runtime",
  outDir: "built",
};

/** Where the module that loads bundles is, and was. */
const ENTRIES = ["bundles/load-bundle.js", "load-bundle.js"];

const READ_ALL = `
  const { loadBundle } = await import(process.argv[1]);
  const told = [];
  for (const file of process.argv.slice(2)) {
    try { await loadBundle(file); told.push(null); }
    catch (error) { told.push(error.code + ": " + error.message); }
  }
  console.log(JSON.stringify(told));
`;

/** Whether the history that the editions name is here: a shallow clone has none. */
export function hasHistory(): boolean {
  return readEditions().every(
    ({ commit }) => spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`]).status === 0,
  );
}

/** Every runtime with every file, the runtime of the working tree last. */
export function formatMatrix(): Reading[] {
  const scratch = mkdtempSync(join(tmpdir(), "stratagem-formats-"));
  try {
    const editions = readEditions();
    const old = editions.flatMap((edition) =>
      readingsOf(edition.name, builtAt(edition.commit, join(scratch, edition.name)), editions),
    );
    return [...old, ...readingsOf(null, resolve("runtime/dist/bundles/load-bundle.js"), editions)];
  } finally {
    rmSync(scratch, { recursive: true, maxRetries: 3 });
  }
}

/** @returns the path of the module that loads bundles. */
function builtAt(commit: string, folder: string): string {
  mkdirSync(folder);
  const archive = execFileSync("git", ["archive", commit, "runtime"], { maxBuffer: 2 ** 28 });
  execFileSync("tar", ["-x", "-C", folder], { input: archive });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const page = "runtime/features/live-page/client";
  const config = { compilerOptions: OPTIONS, include: ["runtime/**/*.ts"], exclude: [page] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  linkModules(folder);
  const tsc = resolve("node_modules/typescript/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" });
  const entries = ENTRIES.map((entry) => join(folder, "built", entry));
  const entry = entries.find((each) => existsSync(each));
  if (entry !== undefined) return entry;
  throw new Error(`runtime of ${commit}: tsc ended with ${status}: ${stdout}`);
}

function readingsOf(
  runtime: string | null,
  entry: string,
  editions: readonly FormatEdition[],
): Reading[] {
  const files = editions.flatMap((edition) =>
    edition.files.map((file) => ({ edition: edition.name, file: pathOf(edition, file) })),
  );
  const args = ["--input-type=module", "-e", READ_ALL, "--", entry];
  const told = execFileSync(
    process.execPath,
    [...args, ...files.map(({ file }) => resolve(file))],
    {
      encoding: "utf8",
    },
  );
  const refusals = JSON.parse(told) as (string | null)[];
  return files.map((each, at) => ({ runtime, ...each, refusal: refusals[at] ?? null }));
}
