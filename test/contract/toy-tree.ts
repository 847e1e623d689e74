/**
 * The source tree with a sixth method in it, built where it can be run: what is copied and how it
 * is built is said here alone.
 */
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { INSERTIONS } from "./toy/insertions.ts";

const COPIED = ["package.json", "tsconfig.json", "runtime", "compiler"];
const TOY = "test/contract/toy";

export interface ToyTree {
  readonly folder: string;
  /** Entries of the two commands. */
  readonly cli: string;
  readonly runtimeCli: string;
  /** Files of this repository that the toy changes. */
  readonly touched: readonly string[];
  remove(): void;
}

/** @throws Error if the toy does not fit in, or the type checker is not content with it. */
export function toyTree(): ToyTree {
  const folder = mkdtempSync(join(tmpdir(), "stratagem-toy-"));
  for (const path of COPIED) {
    cpSync(path, join(folder, path), { recursive: true, filter: (from) => !isBuilt(from) });
  }
  linkModules(folder);
  for (const room of ["runtime", "compiler"]) {
    cpSync(join(TOY, room), join(folder, room), { recursive: true, errorOnExist: true });
  }
  for (const { file, after, text } of INSERTIONS) insert(join(folder, file), after, text);
  build(folder);
  return {
    folder,
    cli: join(folder, "compiler/dist/cli.js"),
    runtimeCli: join(folder, "runtime/dist/cli.js"),
    touched: [...new Set(INSERTIONS.map(({ file }) => file))].sort(),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** The packages of this repository are those of the tree, all others its own. */
function linkModules(folder: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync("node_modules")) {
    if (name.startsWith("stratagem")) continue;
    symlinkSync(resolve("node_modules", name), join(modules, name));
  }
  symlinkSync(join(folder, "runtime"), join(modules, "stratagem-runtime"));
}

function isBuilt(path: string): boolean {
  return /[\\/](dist|node_modules)$/.test(path);
}

function insert(path: string, after: string | null, text: string): void {
  const source = readFileSync(path, "utf8");
  const parts = after === null ? [source, ""] : source.split(after);
  if (parts.length !== 2) {
    throw new Error(`${path}: expected "${after}" once, found it ${parts.length - 1} times`);
  }
  writeFileSync(path, parts.join((after ?? "") + text));
}

/** Types are checked and JavaScript written in one go. */
function build(folder: string): void {
  try {
    const tsc = resolve("node_modules/typescript/bin/tsc");
    for (const room of ["runtime", "runtime/features/live-page/client", "compiler"]) {
      execFileSync(process.execPath, [tsc, "-p", room], { cwd: folder });
    }
  } catch (error) {
    const { stdout } = error as { stdout?: Buffer };
    throw new Error(`the type checker refuses the toy:\n${stdout?.toString() ?? error}`);
  }
}
