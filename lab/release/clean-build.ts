/**
 * Builds and packs the packages from the tracked files alone, in a folder of their own, so that
 * what earlier builds left behind, who runs it and where make no difference to the bytes.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Tarball } from "./install-folder.ts";
import { ownEnvironment } from "./installed.ts";
import { versionOf, WORKSPACES } from "./versions.ts";

/** Workspaces that are packages; the lab is not shipped. */
const PACKED = WORKSPACES.flatMap((each) => ["-w", each]);

/** What is built, and what the build reads. */
const SOURCES = [...WORKSPACES, "package.json", "package-lock.json", "tsconfig.json", ".npmrc"];
const PLAIN = 0o644;
const EXECUTABLE = 0o755;
const OWNER_EXECUTES = 0o100;
const UMASK = 0o022;
const NAMES = { runtime: "stratagem-runtime", compiler: "stratagem", kit: "stratagem-kit" };

export interface BuildOptions {
  /** Where the copy is made and left; it must not exist. */
  readonly folder: string;
  /** Gets the tarballs. */
  readonly out: string;
  /** Of the build, beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
}

/** @returns a tarball of each package, in the order in which they depend on each other. */
export function buildAndPack({ folder, out, env = {} }: BuildOptions): Tarball[] {
  const before = process.umask(UMASK);
  try {
    copySources(folder);
    linkModules(folder);
    mkdirSync(out, { recursive: true });
    const surroundings = { ...ownEnvironment(), ...env };
    run(folder, surroundings, "npm", ["run", "-s", "build"]);
    const where = ["--pack-destination", resolve(out)];
    run(folder, surroundings, "npm", ["pack", ...PACKED, "--ignore-scripts", ...where]);
  } finally {
    process.umask(before);
  }
  const version = versionOf(folder);
  return WORKSPACES.map((workspace) =>
    tarballAt(workspace, join(out, `${NAMES[workspace]}-${version}.tgz`)),
  );
}

export function tarballAt(workspace: string, file: string): Tarball {
  const digest = createHash("sha512").update(readFileSync(file)).digest("base64");
  return { workspace, file, integrity: `sha512-${digest}` };
}

/** Paths of tracked files that were changed since the last commit, or of new ones. */
export function uncommitted(): string[] {
  const said = execFileSync("git", ["status", "--porcelain", "--", ...SOURCES], {
    encoding: "utf8",
  });
  return said.split("\n").filter((line) => line !== "");
}

/** Sources as git knows them, or as they lie in a folder that is no checkout. */
function copySources(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const asked = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...SOURCES];
  const listed = execFileSync("git", asked, { encoding: "utf8" });
  for (const file of listed.split("\0").filter((name) => name !== "")) {
    const to = join(folder, file);
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(file, to);
    const isExecutable = (statSync(file).mode & OWNER_EXECUTES) !== 0;
    chmodSync(to, isExecutable ? EXECUTABLE : PLAIN);
  }
}

/** The packages that are installed here, but of this repository's own those of the copy. */
export function linkModules(folder: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  const own = new Map<string, string>(
    WORKSPACES.map((workspace) => [NAMES[workspace], join("..", workspace)]),
  );
  for (const name of readdirSync("node_modules")) {
    symlinkSync(own.get(name) ?? resolve("node_modules", name), join(modules, name));
  }
}

function run(cwd: string, env: NodeJS.ProcessEnv, program: string, args: readonly string[]): void {
  try {
    execFileSync(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: Buffer; stderr?: Buffer };
    const said = `${stdout ?? ""}${stderr ?? ""}`.trim();
    throw new Error(`${program} ${args.join(" ")} in ${cwd}: ${said || String(error)}`);
  }
}
